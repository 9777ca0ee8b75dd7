#include "core/train/huggingface/source.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/train/checkpoint/dtype.h"
#include "core/train/checkpoint/pieces.h"

namespace orch::huggingface {
namespace {

using checkpoint::Dtype;

// The files that an index names.
Result<std::set<std::string>> files_of(const fs::path& index) {
  const auto text = read_file(index);
  if (!text) return text.error();
  const Error bad{printable(index.string()), "is no index of safetensors files", "get it again"};
  try {
    const auto json = parse_json(*text);
    std::set<std::string> files;
    for (const auto& [tensor, file] : json.at("weight_map").items()) files.insert(file);
    for (const auto& file : files)
      if (!is_plain_name(file)) return bad;
    return files;
  } catch (const nlohmann::json::exception&) {
    return bad;
  }
}

}  // namespace

Result<Source> Source::open(const fs::path& folder, const std::string& prefix) {
  Source source;
  source.folder_ = folder;
  const auto index = folder / "model.safetensors.index.json";
  if (is_there(index)) {
    const auto files = files_of(index);
    if (!files) return files.error();
    for (const auto& file : *files)
      if (auto status = source.add(folder / file, prefix); !status) return status.error();
  } else if (is_there(folder / "model.safetensors")) {
    if (auto status = source.add(folder / "model.safetensors", prefix); !status) return status.error();
  } else {
    return Error{printable(folder.string()), "has no model.safetensors",
                 "save it with transformers' save_pretrained(folder, safe_serialization=True)"};
  }
  return source;
}

Status Source::add(const fs::path& file, const std::string& prefix) {
  auto header = checkpoint::read_safetensors_header(file);
  if (!header) return header.error();
  for (auto& entry : header->tensors) {
    const auto name =
        entry.name.starts_with(prefix) ? entry.name.substr(prefix.size()) : entry.name;
    if (!found_.emplace(name, Found{file, header->data_begin, std::move(entry)}).second)
      return Error{printable(file.string()), printable(name) + " is there twice", "get it again"};
  }
  return {};
}

std::vector<std::string> Source::names() const {
  std::vector<std::string> names;
  for (const auto& [name, found] : found_) names.push_back(name);
  return names;
}

Result<std::vector<float>> Source::read(const std::string& name,
                                        const std::vector<std::int64_t>& shape) const {
  const auto bad = [&](std::string fact) {
    return Error{printable(folder_.string()), name + ": " + fact, "check config.json"};
  };
  const auto at = found_.find(name);
  if (at == found_.end()) return bad("missing");
  const auto& entry = at->second.entry;
  if (entry.shape != shape)
    return bad("has shape " + checkpoint::shape_text(entry.shape) + ", and config.json says " +
               checkpoint::shape_text(shape));
  const auto dtype = checkpoint::parse_dtype(entry.dtype);
  if (!dtype || !checkpoint::is_floating(*dtype))
    return bad("has type " + printable(entry.dtype) + ", which is none of F32, F16, BF16, F64");
  auto file = checkpoint::ShardReader::open(at->second.file);
  if (!file) return file.error();
  std::vector<std::byte> stored(entry.end - entry.begin);
  if (auto status = file->read(at->second.data_begin + entry.begin, stored); !status)
    return status.error();
  std::vector<float> values(static_cast<std::size_t>(checkpoint::count(shape)));
  checkpoint::convert(*dtype, stored, Dtype::f32, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace orch::huggingface

#include "core/train/checkpoint/safetensors.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/train/checkpoint/dtype.h"
#include "core/train/checkpoint/pieces.h"

namespace orch::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kLargestHeader = 100'000'000;  // as safetensors' own library has it

Error broken(const fs::path& path, const std::string& fact) {
  return {printable(path.string()), "is no whole safetensors file: " + fact, "get it again"};
}

// Throws nlohmann's exceptions where something has another type.
TensorEntry entry(const std::string& name, const Json& json) {
  const auto& offsets = json.at("data_offsets");
  return {name, json.at("dtype").get<std::string>(),
          json.at("shape").get<std::vector<std::int64_t>>(), offsets.at(0).get<std::uint64_t>(),
          offsets.at(1).get<std::uint64_t>()};
}

Status check_entry(const fs::path& path, const TensorEntry& tensor, std::uint64_t bytes) {
  if (tensor.begin > tensor.end || tensor.end > bytes)
    return broken(path, printable(tensor.name) + " lies beyond its end");
  const auto dtype = parse_dtype(tensor.dtype);
  if (!dtype) return {};
  const auto whole = Piece::whole(tensor.name, *dtype, tensor.shape);
  if (auto status = check_piece(whole); !status) return status;
  if (tensor.end - tensor.begin != static_cast<std::uint64_t>(whole.end) * bytes_of(*dtype))
    return broken(path, printable(tensor.name) + " has other bytes than its shape " +
                            shape_text(tensor.shape));
  return {};
}

Result<SafetensorsHeader> parse(const fs::path& path, const std::string& text,
                                std::uint64_t data_bytes) {
  SafetensorsHeader header;
  try {
    const auto json = parse_json<Json>(text);
    if (!json.is_object()) return broken(path, "its header is not as it should be");
    for (const auto& [name, tensor] : json.items()) {
      if (name == "__metadata__") continue;
      header.tensors.push_back(entry(name, tensor));
      if (auto status = check_entry(path, header.tensors.back(), data_bytes); !status)
        return status.error();
    }
  } catch (const nlohmann::json::exception&) {
    return broken(path, "its header is not as it should be");
  }
  return header;
}

}  // namespace

Result<SafetensorsHeader> read_safetensors_header(const fs::path& path) {
  auto file = ShardReader::open(path);
  if (!file) return file.error();
  std::uint64_t length = 0;
  if (file->bytes() < sizeof length) return broken(path, "it is too short");
  if (auto status = file->read(0, std::as_writable_bytes(std::span(&length, 1))); !status)
    return status.error();
  if (length > kLargestHeader || length > file->bytes() - sizeof length)
    return broken(path, "its header is longer than the file");
  std::string text(length, ' ');
  if (auto status = file->read(sizeof length, std::as_writable_bytes(std::span(text))); !status)
    return status.error();
  auto header = parse(path, text, file->bytes() - sizeof length - length);
  if (header) header->data_begin = sizeof length + length;
  return header;
}

std::string safetensors_header(std::span<const TensorEntry> tensors,
                               const std::map<std::string, std::string>& metadata) {
  Json json;
  if (!metadata.empty()) json["__metadata__"] = metadata;
  for (const auto& tensor : tensors)
    json[tensor.name] = {{"dtype", tensor.dtype},
                         {"shape", tensor.shape},
                         {"data_offsets", {tensor.begin, tensor.end}}};
  auto text = json.is_null() ? std::string("{}") : json.dump();
  text.append((64 - (text.size() + 8) % 64) % 64, ' ');  // so that tensors are aligned in a mapping
  const std::uint64_t length = text.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + text;
}

}  // namespace orch::checkpoint

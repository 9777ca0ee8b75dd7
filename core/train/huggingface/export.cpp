#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/draft.h"
#include "core/base/text.h"
#include "core/train/checkpoint/dtype.h"
#include "core/train/checkpoint/pieces.h"
#include "core/train/checkpoint/safetensors.h"
#include "core/train/huggingface/huggingface.h"
#include "core/train/huggingface/model.h"

namespace orch::huggingface {
namespace {

using checkpoint::TensorDtype;
using checkpoint::TensorEntry;
using checkpoint::TensorPiece;

struct WeightFile {
  std::string name;
  std::vector<TensorEntry> entries;
  std::vector<const Tensor*> tensors;  // the tensors of the entries, in the same order
};

// Fills each file up to its limit, with at least one tensor.
std::vector<WeightFile> share_out(const std::vector<Tensor>& tensors, const std::string& prefix,
                                  const ExportOptions& options) {
  std::vector<WeightFile> files(1);
  for (const auto& tensor : tensors) {
    const auto bytes = static_cast<std::uint64_t>(checkpoint::count(tensor.shape)) *
                       checkpoint::bytes_of(options.dtype);
    auto at = files.back().entries.empty() ? 0 : files.back().entries.back().end;
    if (at > 0 && at + bytes > options.file_bytes) {
      files.emplace_back();
      at = 0;
    }
    files.back().tensors.push_back(&tensor);
    for (const auto& their : tensor.theirs) {
      const auto end = at + bytes / static_cast<std::uint64_t>(tensor.shape[0]) *
                                static_cast<std::uint64_t>(their.rows);
      files.back().entries.push_back({their.name == kHead ? kHead : prefix + their.name,
                                      std::string(name(options.dtype)), their_shape(tensor, their),
                                      at, end});
      at = end;
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1, files.size());
    files[i].name = files.size() == 1 ? "model.safetensors" : name;
  }
  return files;
}

Result<std::vector<std::byte>> values_of(const Tensor& tensor, const plan::Model& model,
                                         const checkpoint::CheckpointReader& from,
                                         TensorDtype dtype) {
  const auto wanted = TensorPiece::whole("weights/" + tensor.ours, TensorDtype::f32, tensor.shape);
  std::vector<float> values(static_cast<std::size_t>(wanted.end));
  if (auto status = from.read(wanted, std::as_writable_bytes(std::span(values))); !status)
    return status.error();
  values = to_theirs(tensor, model, std::move(values));
  std::vector<std::byte> out(values.size() * checkpoint::bytes_of(dtype));
  checkpoint::convert(TensorDtype::f32, std::as_bytes(std::span(values)), dtype, out);
  constexpr float kLargestHalf = 65504;
  const auto beyond = std::find_if(values.begin(), values.end(),
                                   [](float x) { return std::abs(x) > kLargestHalf; });
  if (dtype == TensorDtype::f16 && beyond != values.end())
    return Error{printable(tensor.ours),
                 "has " + std::to_string(*beyond) + ", and f16 ends at 65504",
                 "use --dtype bf16 or f32"};
  return out;
}

Status write_file(const WeightFile& file, const plan::Model& model,
                  const checkpoint::CheckpointReader& from, const fs::path& folder,
                  TensorDtype dtype) {
  // transformers loads only files with the format entry.
  const auto header = checkpoint::safetensors_header(file.entries, {{"format", "pt"}});
  auto writer =
      checkpoint::ShardWriter::create(folder / file.name, header.size() + file.entries.back().end);
  if (!writer) return writer.error();
  if (auto status = writer->append(std::as_bytes(std::span(header))); !status) return status;
  for (const auto* tensor : file.tensors) {
    const auto values = values_of(*tensor, model, from, dtype);
    if (!values) return values.error();
    if (auto status = writer->append(*values); !status) return status;
  }
  return writer->finish();
}

std::uint64_t total_bytes(const std::vector<WeightFile>& files) {
  std::uint64_t total = 0;
  for (const auto& file : files) total += file.entries.back().end;
  return total;
}

std::string index_json(const std::vector<WeightFile>& files) {
  Json map;
  for (const auto& file : files)
    for (const auto& entry : file.entries) map[entry.name] = file.name;
  return Json{{"metadata", {{"total_size", total_bytes(files)}}}, {"weight_map", map}}.dump(2) +
         "\n";
}

// Reports weights that are not part of our model, such as a plug-in's own.
Status check_names(const checkpoint::CheckpointReader& from, const std::vector<Tensor>& tensors) {
  for (const auto& there : from.names()) {
    const bool known = std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
      return there == "weights/" + tensor.ours;
    });
    if (there.starts_with("weights/") && !known)
      return Error{printable(there), "does not exist in the model of transformers", ""};
  }
  return {};
}

}  // namespace

Result<Exported> export_model(const checkpoint::CheckpointReader& from, const fs::path& folder,
                              const ExportOptions& options) {
  const auto model = model_of(from.facts());
  if (!model) return model.error();
  const auto architecture = choose(*model, options.architecture);
  if (!architecture) return architecture.error();
  const auto tensors = (*architecture)->tensors(*model);
  if (auto status = check_names(from, tensors); !status) return status.error();
  const auto files = share_out(tensors, (*architecture)->prefix, options);
  auto draft = DraftFolder::create(folder);
  if (!draft) return draft.error();
  Status status;
  for (auto file = files.begin(); status && file != files.end(); ++file)
    status = write_file(*file, *model, from, draft->path(), options.dtype);
  if (status && files.size() > 1)
    status =
        write_file_atomically(draft->path() / "model.safetensors.index.json", index_json(files));
  if (status)
    status = write_file_atomically(draft->path() / "config.json",
                                   config_json(*model, **architecture, options.dtype));
  if (status) status = draft->sync();
  if (status) status = draft->publish();
  if (!status) return status.error();
  sync_folder(draft->place().parent_path());
  return Exported{*model, (*architecture)->class_name, from.facts().step, total_bytes(files),
                  files.size()};
}

}  // namespace orch::huggingface

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "core/base/draft.h"
#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/plan/model_json.h"
#include "core/train/checkpoint/dtype.h"
#include "core/train/checkpoint/pieces.h"
#include "core/train/checkpoint/safetensors.h"
#include "core/train/huggingface/huggingface.h"
#include "core/train/huggingface/model.h"

namespace orch::huggingface {
namespace {

using checkpoint::SavedState;
using checkpoint::TensorDtype;
using checkpoint::TensorPiece;
using Share = std::vector<const Tensor*>;

// The files that are listed in an index.
Result<std::set<std::string>> files_of(const fs::path& index) {
  const auto text = read_file(index);
  if (!text) return text.error();
  const Error bad{printable(index.string()), "is not an index of safetensors files",
                  "download it again"};
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

// The tensors of a folder of safetensors files, by name without the prefix that most of them have.
class ImportSource {
 public:
  static Result<ImportSource> open(const fs::path& folder, const std::string& prefix);

  const auto& tensors() const { return found_; }  // by name
  bool has(const std::string& name) const { return found_.contains(name); }
  // Reads a tensor with that shape, as floats. Errors name the tensor.
  Result<std::vector<float>> read(const std::string& name,
                                  const std::vector<std::int64_t>& shape) const;

 private:
  struct FoundTensor {
    fs::path file;
    std::uint64_t data_begin;
    checkpoint::TensorEntry entry;
  };
  Status add(const fs::path& file, const std::string& prefix);

  fs::path folder_;
  std::map<std::string, FoundTensor> found_;
};

Result<ImportSource> ImportSource::open(const fs::path& folder, const std::string& prefix) {
  ImportSource source;
  source.folder_ = folder;
  const auto index = folder / "model.safetensors.index.json";
  if (is_there(index)) {
    const auto files = files_of(index);
    if (!files) return files.error();
    for (const auto& file : *files)
      if (auto status = source.add(folder / file, prefix); !status) return status.error();
  } else if (is_there(folder / "model.safetensors")) {
    if (auto status = source.add(folder / "model.safetensors", prefix); !status)
      return status.error();
  } else {
    return Error{printable(folder.string()), "has no model.safetensors",
                 "save it with transformers' save_pretrained(folder, safe_serialization=True)"};
  }
  return source;
}

Status ImportSource::add(const fs::path& file, const std::string& prefix) {
  auto header = checkpoint::read_safetensors_header(file);
  if (!header) return header.error();
  for (auto& entry : header->tensors) {
    const auto name =
        entry.name.starts_with(prefix) ? entry.name.substr(prefix.size()) : entry.name;
    if (!found_.emplace(name, FoundTensor{file, header->data_begin, std::move(entry)}).second)
      return Error{printable(file.string()), printable(name) + " is there twice",
                   "download it again"};
  }
  return {};
}

Result<std::vector<float>> ImportSource::read(const std::string& name,
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
    return bad("has type " + printable(entry.dtype) + ", not F32, F16, BF16 or F64");
  auto file = checkpoint::ShardReader::open(at->second.file);
  if (!file) return file.error();
  std::vector<std::byte> stored(entry.end - entry.begin);
  if (auto status = file->read(at->second.data_begin + entry.begin, stored); !status)
    return status.error();
  std::vector<float> values(static_cast<std::size_t>(checkpoint::count(shape)));
  checkpoint::convert(*dtype, stored, TensorDtype::f32, std::as_writable_bytes(std::span(values)));
  return values;
}

std::uint64_t bytes_of(const Tensor& tensor) {
  return static_cast<std::uint64_t>(checkpoint::count(tensor.shape)) * sizeof(float);
}

// Groups of tensors that are written together, each as the share of one rank.
std::vector<Share> share_out(const std::vector<Tensor>& tensors, std::uint64_t most) {
  std::vector<Share> shares(1);
  std::uint64_t bytes = 0;
  for (const auto& tensor : tensors) {
    if (bytes > 0 && bytes + bytes_of(tensor) > most) {
      shares.emplace_back();
      bytes = 0;
    }
    shares.back().push_back(&tensor);
    bytes += bytes_of(tensor);
  }
  return shares;
}

// True for constants that old versions of transformers stored.
bool is_mask(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".rotary_emb.inv_freq");
}

Status check_names(const ImportSource& source, const std::vector<Tensor>& tensors,
                   const fs::path& from) {
  for (const auto& found : source.tensors()) {
    const auto& name = found.first;
    const bool known = std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
      return std::any_of(tensor.theirs.begin(), tensor.theirs.end(),
                         [&](const SourceTensor& their) { return their.name == name; });
    });
    if (!known && !is_mask(name) && name != kHead)
      return Error{printable(from.string()), printable(name) + ": our model has no such tensor",
                   "language models with a head for the next token can be imported"};
  }
  return {};
}

// The head of a tied model must be equal to the word embedding.
Status check_head(const ImportSource& source, const plan::Model& model, const Tensor& embedding,
                  const fs::path& from) {
  if (!model.tied || !source.has(kHead)) return {};
  const auto head = source.read(kHead, {model.vocab, model.hidden});
  if (!head) return head.error();
  const auto words = source.read(embedding.theirs.front().name, embedding.shape);
  if (!words) return words.error();
  if (std::memcmp(head->data(), words->data(), head->size() * sizeof(float)) == 0) return {};
  return Error{printable(from.string()), "lm_head.weight is not the word embedding",
               "tie_word_embeddings in config.json says that it is"};
}

Result<SavedState> read_share(const ImportSource& source, const plan::Model& model,
                              const Share& share) {
  SavedState saved;
  for (const auto* tensor : share) {
    std::vector<float> theirs;
    for (const auto& their : tensor->theirs) {
      const auto rows = source.read(their.name, their_shape(*tensor, their));
      if (!rows) return rows.error();
      theirs.insert(theirs.end(), rows->begin(), rows->end());
    }
    const auto ours = to_ours(*tensor, model, std::move(theirs));
    const auto bytes = std::as_bytes(std::span(ours));
    saved.pieces.push_back(
        {TensorPiece::whole("weights/" + tensor->ours, TensorDtype::f32, tensor->shape),
         {bytes.begin(), bytes.end()}});
  }
  return saved;
}

Status write_shares(const ImportSource& source, const plan::Model& model,
                    const std::vector<Share>& shares, const fs::path& folder) {
  checkpoint::CheckpointFacts facts;
  facts.ranks = static_cast<int>(shares.size());
  facts.texts = {
      {"family", model.family}, {"model", plan::model_json(model)}, {"origin", "import"}};
  checkpoint::WriteOptions options;
  options.attempt = "import-" + std::to_string(::getpid()) + "-" +
                    std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  options.wait_seconds = 0;
  for (options.rank = facts.ranks - 1; options.rank >= 0; --options.rank) {
    const auto saved = read_share(source, model, shares[static_cast<std::size_t>(options.rank)]);
    if (!saved) return saved.error();
    if (auto status = checkpoint::write(folder, facts, *saved, options); !status) return status;
  }
  return {};
}

}  // namespace

Result<Imported> import_model(const fs::path& from, const fs::path& folder,
                              std::uint64_t share_bytes) {
  const auto text = read_file(from / "config.json");
  if (!text) return text.error();
  const auto described = parse_config(*text, (from / "config.json").string());
  if (!described) return described.error();
  const auto& [model, architecture] = *described;
  const auto source = ImportSource::open(from, architecture->prefix);
  if (!source) return source.error();
  const auto tensors = architecture->tensors(model);
  if (auto status = check_names(*source, tensors, from); !status) return status.error();
  if (auto status = check_head(*source, model, tensors.front(), from); !status)
    return status.error();
  auto draft = DraftFolder::create(folder);
  if (!draft) return draft.error();
  auto status = write_shares(*source, model, share_out(tensors, share_bytes), draft->path());
  if (status) status = draft->sync();
  if (status) status = draft->publish();
  if (!status) return status.error();
  sync_folder(draft->place().parent_path());
  Imported imported{model, folder / "step-00000000", 0};
  for (const auto& tensor : tensors) imported.bytes += bytes_of(tensor);
  return imported;
}

}  // namespace orch::huggingface

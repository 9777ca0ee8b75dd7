#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/draft.h"
#include "core/base/text.h"
#include "core/train/checkpoint/pieces.h"
#include "core/train/huggingface/huggingface.h"
#include "core/train/huggingface/model.h"
#include "core/train/huggingface/source.h"
#include "core/plan/model_json.h"

namespace orch::huggingface {
namespace {

using checkpoint::Dtype;
using checkpoint::Piece;
using checkpoint::Saved;
using Share = std::vector<const Tensor*>;

std::uint64_t bytes_of(const Tensor& tensor) {
  return static_cast<std::uint64_t>(checkpoint::count(tensor.shape)) * sizeof(float);
}

// What is written together, as if by a rank of its own.
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

// Constants that old versions of transformers stored.
bool is_mask(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with(".rotary_emb.inv_freq");
}

Status check_names(const Source& source, const std::vector<Tensor>& tensors, const fs::path& from) {
  for (const auto& name : source.names()) {
    const bool known = std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
      return std::any_of(tensor.theirs.begin(), tensor.theirs.end(),
                         [&](const Their& their) { return their.name == name; });
    });
    if (!known && !is_mask(name) && name != kHead)
      return Error{printable(from.string()), printable(name) + ": our model has no such tensor",
                   "language models with a head for the next token can be imported"};
  }
  return {};
}

// Of a tied one, ours is the word embedding.
Status check_head(const Source& source, const plan::Model& model, const Tensor& embedding,
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

Result<Saved> read_share(const Source& source, const plan::Model& model, const Share& share) {
  Saved saved;
  for (const auto* tensor : share) {
    std::vector<float> theirs;
    for (const auto& their : tensor->theirs) {
      const auto rows = source.read(their.name, their_shape(*tensor, their));
      if (!rows) return rows.error();
      theirs.insert(theirs.end(), rows->begin(), rows->end());
    }
    const auto ours = to_ours(*tensor, model, std::move(theirs));
    const auto bytes = std::as_bytes(std::span(ours));
    saved.pieces.push_back({Piece::whole("weights/" + tensor->ours, Dtype::f32, tensor->shape),
                            {bytes.begin(), bytes.end()}});
  }
  return saved;
}

Status write_shares(const Source& source, const plan::Model& model, const std::vector<Share>& shares,
                    const fs::path& folder) {
  checkpoint::Facts facts;
  facts.ranks = static_cast<int>(shares.size());
  facts.texts = {{"family", model.family}, {"model", plan::model_json(model)}, {"origin", "import"}};
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
  const auto source = Source::open(from, architecture->prefix);
  if (!source) return source.error();
  const auto tensors = architecture->tensors(model);
  if (auto status = check_names(*source, tensors, from); !status) return status.error();
  if (auto status = check_head(*source, model, tensors.front(), from); !status)
    return status.error();
  auto draft = DraftFolder::create(folder);
  if (!draft) return draft.error();
  auto status =
      write_shares(*source, model, share_out(tensors, share_bytes), draft->path());
  if (status) status = draft->sync();
  if (status) status = draft->publish();
  if (!status) return status.error();
  sync_folder(draft->place().parent_path());
  Imported imported{model, folder / "step-00000000", 0};
  for (const auto& tensor : tensors) imported.bytes += bytes_of(tensor);
  return imported;
}

}  // namespace orch::huggingface

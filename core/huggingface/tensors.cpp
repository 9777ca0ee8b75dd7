#include "core/huggingface/tensors.h"

#include <algorithm>

namespace orch::huggingface {
namespace {

// The parameters of one side's name for a layer's part.
class Builder {
 public:
  explicit Builder(const Model& model) : gpt_(model.family == "gpt"), hidden_(model.hidden) {}

  void norm(const std::string& ours, const std::string& theirs) {
    add(ours + ".weight", theirs + ".weight", {hidden_});
    add(ours + ".bias", theirs + ".bias", {hidden_});
  }
  void linear(const std::string& ours, const std::string& theirs, std::int64_t out, std::int64_t in,
              bool qkv = false) {
    add(ours + ".weight", theirs + ".weight", {out, in}, gpt_, gpt_ && qkv);
    add(ours + ".bias", theirs + ".bias", {out}, false, gpt_ && qkv);
  }
  void add(std::string ours, std::string theirs, std::vector<std::int64_t> shape,
           bool transposed = false, bool qkv = false) {
    tensors_.push_back({std::move(ours), std::move(theirs), std::move(shape), transposed, qkv});
  }
  void layer(std::int64_t index);
  std::vector<Tensor> done() && { return std::move(tensors_); }

 private:
  const char* pick(const char* gpt, const char* bloom) const { return gpt_ ? gpt : bloom; }

  bool gpt_;
  std::int64_t hidden_;
  std::vector<Tensor> tensors_;
};

void Builder::layer(std::int64_t index) {
  const auto h = hidden_;
  const auto a = "layers." + std::to_string(index), b = "h." + std::to_string(index);
  norm(a + ".norm1", b + pick(".ln_1", ".input_layernorm"));
  linear(a + ".attention.qkv", b + pick(".attn.c_attn", ".self_attention.query_key_value"), 3 * h,
         h, true);
  linear(a + ".attention.out", b + pick(".attn.c_proj", ".self_attention.dense"), h, h);
  norm(a + ".norm2", b + pick(".ln_2", ".post_attention_layernorm"));
  linear(a + ".mlp.up", b + pick(".mlp.c_fc", ".mlp.dense_h_to_4h"), 4 * h, h);
  linear(a + ".mlp.down", b + pick(".mlp.c_proj", ".mlp.dense_4h_to_h"), h, 4 * h);
}

std::int64_t width(const Tensor& tensor) { return tensor.shape.size() > 1 ? tensor.shape[1] : 1; }

// In squares that fit the cache.
std::vector<float> transpose(const std::vector<float>& from, std::int64_t rows,
                             std::int64_t columns) {
  constexpr std::int64_t kSquare = 32;
  std::vector<float> to(from.size());
  for (std::int64_t r0 = 0; r0 < rows; r0 += kSquare)
    for (std::int64_t c0 = 0; c0 < columns; c0 += kSquare)
      for (auto r = r0; r < std::min(r0 + kSquare, rows); ++r)
        for (auto c = c0; c < std::min(c0 + kSquare, columns); ++c)
          to[static_cast<std::size_t>(c * rows + r)] =
              from[static_cast<std::size_t>(r * columns + c)];
  return to;
}

// Rows in blocks of head_dim: ours is [head][q, k, v], theirs [q, k, v][head].
enum class Way { to_theirs, to_ours };
std::vector<float> reorder(const std::vector<float>& from, const Model& model, std::int64_t width,
                           Way way) {
  std::vector<float> to(from.size());
  const auto block = model.head_dim() * width;
  for (std::int64_t head = 0; head < model.heads; ++head)
    for (std::int64_t part = 0; part < 3; ++part) {
      const auto ours = (head * 3 + part) * block, theirs = (part * model.heads + head) * block;
      const bool out = way == Way::to_theirs;
      std::copy_n(from.begin() + (out ? ours : theirs), block, to.begin() + (out ? theirs : ours));
    }
  return to;
}

}  // namespace

std::vector<Tensor> tensors_of(const Model& model) {
  Builder builder(model);
  const bool gpt = model.family == "gpt";
  builder.add("word_embedding.weight", gpt ? "wte.weight" : "word_embeddings.weight",
              {model.vocab, model.hidden});
  if (gpt) builder.add("position_embedding.weight", "wpe.weight", {model.seq, model.hidden});
  if (!gpt) builder.norm("embedding_norm", "word_embeddings_layernorm");
  for (std::int64_t i = 0; i < model.layers; ++i) builder.layer(i);
  builder.norm("final_norm", "ln_f");
  return std::move(builder).done();
}

std::vector<std::int64_t> their_shape(const Tensor& tensor) {
  auto shape = tensor.shape;
  if (tensor.transposed) std::swap(shape[0], shape[1]);
  return shape;
}

std::vector<float> to_theirs(const Tensor& tensor, const Model& model, std::vector<float> ours) {
  if (tensor.qkv) ours = reorder(ours, model, width(tensor), Way::to_theirs);
  if (tensor.transposed) ours = transpose(ours, tensor.shape[0], tensor.shape[1]);
  return ours;
}

std::vector<float> to_ours(const Tensor& tensor, const Model& model, std::vector<float> theirs) {
  if (tensor.transposed) theirs = transpose(theirs, tensor.shape[1], tensor.shape[0]);
  if (tensor.qkv) theirs = reorder(theirs, model, width(tensor), Way::to_ours);
  return theirs;
}

}  // namespace orch::huggingface

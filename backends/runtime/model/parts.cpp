#include "backends/runtime/model/parts.h"

#include <fmt/format.h>

#include <stdexcept>

namespace orch::train {

void require_parts(const plan::Model& model) {
  if (model.mixture() || model.latent())
    throw std::invalid_argument(fmt::format(
        "a {} with experts or latent attention can be planned, not trained: use a dense family",
        model.family));
}

void require_equal_shares(const plan::Model& model, std::int64_t ranks) {
  const auto require = [&](std::int64_t count, const char* what) {
    if (count % ranks != 0)
      throw std::invalid_argument(
          fmt::format("{} {} cannot be shared equally by {} ranks: tensor_parallel must divide it",
                      count, what, ranks));
  };
  if (model.heads % model.kv_heads != 0)
    throw std::invalid_argument(fmt::format("{} heads cannot share {} keys and values equally",
                                            model.heads, model.kv_heads));
  require(model.heads, "heads");
  require(model.kv_heads, "kv_heads");
  require(model.ffn_hidden, "columns of the MLP");
}

}  // namespace orch::train

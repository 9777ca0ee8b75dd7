#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace orch::test {

// Random numbers from a seed: the same on every machine and with every standard library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(count));
  }
  bool percent(std::int64_t chance) { return below(100) < chance; }
  template <class T>
  T one_of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
  }
  std::int64_t divisor_of(std::int64_t number);

 private:
  std::mt19937_64 random_;
};

// A model and its training: common to all layouts of a case.
struct DrawnTraining {
  std::string family, model, training;  // the last two in Lua
  std::int64_t layers = 1, global_batch = 1;
  std::string dtype, optimizer;

  bool is_exact() const { return dtype == "fp32"; }
  // Sums in fp16 overflow in other steps than those of one process, so other steps are skipped.
  bool sums_wide() const { return dtype == "fp16"; }
};

// A strategy with its settings, on a number of ranks.
struct DrawnLayout {
  std::string name;      // "megatron 2x2x1": tensor, pipeline and data
  std::string strategy;  // in Lua
  std::int64_t ranks = 1, micro_batch = 1;
};

DrawnTraining draw_training(Draw& draw);
// A layout that may be refused: orch decides if it fits the model.
DrawnLayout draw_layout(Draw& draw, const DrawnTraining& asked);
// One process that computes everything.
DrawnLayout single(Draw& draw, const DrawnTraining& asked);

// The experiment file of one of them.
std::string lua(const DrawnTraining& asked, const DrawnLayout& layout);

}  // namespace orch::test

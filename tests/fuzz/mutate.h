#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/door.h"

namespace orch::fuzz {

// Makes inputs from seeds. Input n of a seed number is always the same, independent of the previous
// ones: the seeds unchanged, then each changed in one to eight places.
class Mutator {
 public:
  explicit Mutator(std::vector<Input> seeds);

  Input make(std::uint64_t seed, std::uint64_t n) const;

 private:
  class Dice;
  void change(Input& input, Dice& dice) const;
  void change(std::string& text, const InputPart& other, Dice& dice) const;
  bool change_json(std::string& text, Dice& dice) const;
  void change_word(std::string& text, Dice& dice) const;
  const std::string& word(Dice& dice) const;

  std::vector<Input> seeds_;
  std::vector<std::string> words_;  // from the seeds, and known problematic ones
};

}  // namespace orch::fuzz

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "include/orch/backend.h"

namespace orch::backend {

// Which text to collect along with the numbers of a work.
enum class WorkTexts { none, names, formulas };  // formulas: and names

// An operation of a block, as in orch_op. Names and formulas are collected only if asked for, in
// Work::texts; otherwise they are empty. Plain bytes: a search collects millions of them.
struct Op {
  Op() = default;
  explicit Op(const orch_op& op) : data(op) {}  // one copy of the whole struct

  orch_op data{};  // its own name and formula are NULL: the backend owned them
  std::string_view name;
  std::string_view formula;
};

struct Block {
  std::string_view name;
  std::size_t first_op = 0;  // index in Work::ops
  std::size_t n_ops = 0;
};

struct Stages {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t first_count = 0;  // index in Work::counts; one count per block
};

struct Memory {
  std::string_view name;
  std::string_view formula;
  std::uint32_t place = ORCH_DEVICE;
  std::int64_t first = 0;
  std::int64_t last = 0;
  double bytes = 0;
};

// The work of one rank of each pipeline stage in a step, and its memory. Reused from run to run:
// clear() keeps the capacity.
struct Work {
  std::int64_t stages = 1;
  std::int64_t micro_batches = 1;
  std::int64_t chunks = 1;
  bool filled = false;  // weight gradients are computed in bubbles
  std::uint32_t recompute = ORCH_RECOMPUTE_NONE;
  std::string dtype = "bf16";
  WorkTexts explained = WorkTexts::formulas;  // the default is for works made by hand
  std::vector<Block> blocks;
  std::vector<Op> ops;
  std::vector<Stages> stage_list;
  std::vector<double> counts;
  std::vector<Memory> memory;
  // Owns the strings of names and formulas; copies of the work share it.
  std::shared_ptr<std::deque<std::string>> texts;

  void clear();
  void clear_time();                        // all but the schedule and the memory
  std::string_view keep(std::string text);  // Stores the text in `texts`.
};

}  // namespace orch::backend

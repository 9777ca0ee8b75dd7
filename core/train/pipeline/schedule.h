#pragma once

#include <cstdint>
#include <vector>

namespace orch::pipeline {

// What a stage does with one micro-batch and one of its chunks.
enum class Pass { forward, backward, weights };  // weights: those gradients, where put off

struct Task {
  Pass pass = Pass::forward;
  std::int64_t chunk = 0;
  std::int64_t micro_batch = 0;

  bool operator==(const Task&) const = default;
};

// A pipeline. Stage p has the virtual stages p, p + stages, p + 2 stages, …, one per chunk.
struct Shape {
  std::int64_t stages = 1;
  std::int64_t chunks = 1;         // more than one: interleaved
  std::int64_t micro_batches = 1;  // any number
  bool filled = false;             // weight gradients fill bubbles; chunks = 1
};

// What a stage does in one step, in order: one forward, one backward after a warm-up (1F1B), or
// interleaved (Narayanan et al. 2021), or with backwards split in two, so that the gradients of
// weights wait for a moment in which nothing else can be done (Qi et al. 2023, ZB-H1). Whoever
// sends to a stage sends in the order in which it receives, both ways.
std::vector<Task> tasks(const Shape& shape, std::int64_t stage);

// Forwards in the order of tasks(), without backwards: what evaluation does.
std::vector<Task> forwards(const Shape& shape);

// The most forwards whose backward has not come that a stage has at once: of all its chunks.
std::int64_t in_flight(const Shape& shape, std::int64_t stage);

// The most backwards whose gradients of weights wait, where they fill bubbles: no more than stages.
std::int64_t put_off(const Shape& shape, std::int64_t stage);

}  // namespace orch::pipeline

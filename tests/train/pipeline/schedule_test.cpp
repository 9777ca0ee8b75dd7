#include "core/train/pipeline/schedule.h"

#include "tests/test.h"
#include "tests/train/pipeline/clockwork.h"

using namespace orch::pipeline;

namespace {

std::string text(const std::vector<Task>& tasks) {
  std::string out;
  for (const auto& [pass, chunk, micro] : tasks) {
    if (!out.empty()) out += ' ';
    out += "FBW"[static_cast<int>(pass)];
    out += std::to_string(chunk) + "." + std::to_string(micro);
  }
  return out;
}

// A forward of a stage takes 1, a backward 2: all chunks together.
double seconds(PipelineShape shape) {
  const double part = 1 / static_cast<double>(shape.chunks);
  const Durations each = shape.filled ? Durations{part, part, part} : Durations{part, 2 * part, 0};
  return step_seconds(shape, std::vector<Durations>(static_cast<std::size_t>(shape.stages), each));
}

std::int64_t most_held(const PipelineShape& shape, std::int64_t stage) {
  std::int64_t held = 0, most = 0;
  for (const auto& task : tasks(shape, stage)) {
    if (task.pass == PipelinePass::forward) most = std::max(most, ++held);
    if (task.pass == PipelinePass::backward) --held;
  }
  return most;
}

using Message =
    std::pair<std::int64_t, std::int64_t>;  // virtual stage that it comes from, micro-batch

// The sends or recvs of a stage for one neighbour; down: activations.
std::vector<Message> messages(const PipelineShape& shape, std::int64_t stage, bool down,
                              bool sends) {
  std::vector<Message> all;
  const auto last = shape.stages * shape.chunks - 1;
  for (const auto& [pass, chunk, micro] : tasks(shape, stage)) {
    if (pass != (down ? PipelinePass::forward : PipelinePass::backward)) continue;
    const auto here = chunk * shape.stages + stage;
    const bool at_end = (down == sends) ? here == last : here == 0;
    if (!at_end) all.push_back({sends ? here : here + (down ? -1 : 1), micro});
  }
  return all;
}

}  // namespace

TEST_CASE("the lists of 1F1B and of two chunks", "[pipeline]") {
  CHECK(text(tasks({2, 1, 4}, 0)) == "F0.0 F0.1 B0.0 F0.2 B0.1 F0.3 B0.2 B0.3");
  CHECK(text(tasks({2, 1, 4}, 1)) == "F0.0 B0.0 F0.1 B0.1 F0.2 B0.2 F0.3 B0.3");
  CHECK(text(tasks({2, 2, 4}, 0)) ==
        "F0.0 F0.1 F1.0 F1.1 F0.2 B1.0 F0.3 B1.1 F1.2 B0.0 F1.3 B0.1 B1.2 B1.3 B0.2 B0.3");
  CHECK(text(tasks({2, 2, 4}, 1)) ==
        "F0.0 F0.1 F1.0 B1.0 F1.1 B1.1 F0.2 B0.0 F0.3 B0.1 F1.2 B1.2 F1.3 B1.3 B0.2 B0.3");
  CHECK(text(tasks({1, 1, 3}, 0)) == "F0.0 B0.0 F0.1 B0.1 F0.2 B0.2");
}

TEST_CASE("equal stages are idle for (P - 1) / (v M) of the work", "[pipeline]") {
  CHECK_THAT(seconds({4, 1, 8}), WithinRel(33.0));
  CHECK_THAT(seconds({4, 2, 8}), WithinRel(28.5));
  CHECK_THAT(seconds({8, 4, 32}), WithinRel(101.25));
  const auto stages = GENERATE(2, 3, 4, 8), chunks = GENERATE(1, 2, 4), groups = GENERATE(1, 2, 4);
  const auto micro = stages * groups;
  const double idle = (stages - 1.0) / (chunks * micro);
  CHECK_THAT(seconds({stages, chunks, micro}), WithinRel(3.0 * micro * (1 + idle)));
}

TEST_CASE("gradients of weights fill two thirds of the bubble", "[pipeline]") {
  CHECK_THAT(seconds({4, 1, 8, true}), WithinRel(24 * 1.125));
  const auto stages = GENERATE(2, 4, 8);
  const auto micro = 2 * stages;
  const double idle = (stages - 1.0) / micro;
  CHECK_THAT(seconds({stages, 1, micro, true}), WithinRel(3.0 * micro * (1 + idle / 3)));
}

TEST_CASE("so much is in flight on each stage", "[pipeline]") {
  const auto held = [](const PipelineShape& shape) {
    std::vector<std::int64_t> all;
    for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
      all.push_back(in_flight(shape, stage));
      CHECK(all.back() == most_held(shape, stage));
    }
    return all;
  };
  CHECK(held({4, 1, 8}) == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(held({4, 2, 8}) == std::vector<std::int64_t>{11, 9, 7, 5});
  CHECK(held({4, 2, 4}) == std::vector<std::int64_t>{8, 8, 7, 5});
  CHECK(held({2, 2, 4}) == std::vector<std::int64_t>{5, 3});
  CHECK(held({8, 4, 32}).front() == 39);
  CHECK(held({4, 1, 8, true}) == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(held({4, 1, 2}) == std::vector<std::int64_t>{2, 2, 2, 1});
}

TEST_CASE("no more gradients of weights wait than there are stages", "[pipeline]") {
  const auto stages = GENERATE(2, 3, 4, 8), micro = GENERATE(1, 4, 11, 32);
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const PipelineShape shape{stages, 1, micro, true};
    std::int64_t waiting = 0, most = 0;
    for (const auto& task : tasks(shape, stage)) {
      waiting += task.pass == PipelinePass::backward  ? 1
                 : task.pass == PipelinePass::weights ? -1
                                                      : 0;
      most = std::max(most, waiting);
    }
    CHECK(most == put_off(shape, stage));
    CHECK(most <= std::min(stages, micro));
  }
  CHECK(put_off({4, 1, 12, true}, 0) == 4);
  CHECK(put_off({4, 1, 12}, 0) == 0);
}

TEST_CASE("every pass comes once, and messages are awaited in the order they are sent",
          "[pipeline]") {
  const auto stages = GENERATE(1, 2, 3, 4, 7);
  const auto chunks = GENERATE(1, 2, 3);
  const auto micro = GENERATE(1, 2, 3, 5, 8, 11);
  const bool filled = GENERATE(false, true);
  if (filled && chunks > 1) return;
  const PipelineShape shape{stages, chunks, micro, filled};
  CAPTURE(stages, chunks, micro, filled);
  CHECK_NOTHROW(seconds(shape));  // no deadlock
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const auto list = tasks(shape, stage);
    std::set<std::string> names;
    for (const auto& task : list) names.insert(text({task}));
    CHECK(names.size() == list.size());
    CHECK(static_cast<std::int64_t>(list.size()) == (filled ? 3 : 2) * chunks * micro);
    const auto next = (stage + 1) % stages;
    if (stages == 1) continue;
    CHECK(messages(shape, stage, true, true) == messages(shape, next, true, false));
    CHECK(messages(shape, next, false, true) == messages(shape, stage, false, false));
  }
}

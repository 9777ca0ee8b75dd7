// Every schedule over channels that pass a message only when both ends have reached it, each in its
// own order, like NCCL's kernels: there are no buffers.
#include <deque>

#include "core/train/pipeline/schedule.h"
#include "tests/test.h"

using namespace orch::pipeline;

namespace {

using ChannelKey = std::tuple<int, std::int64_t, std::int64_t>;  // kind, from, to: a channel

struct Operation {
  bool sends;
  std::int64_t number;  // index of the stage's operation
};

// What a stage does: starts an operation on a channel, or waits for one that it has started.
struct Action {
  bool waits;
  ChannelKey channel;
  bool sends;
  std::int64_t number;
};

class Pipe {
 public:
  // apart: a channel per direction; otherwise two neighbours share one. ahead: the next recv is
  // posted before the present message is used.
  Pipe(const PipelineShape& shape, bool apart, bool ahead)
      : shape_(shape), apart_(apart), ahead_(ahead) {
    for (std::int64_t stage = 0; stage < shape.stages; ++stage) programs_.push_back(program(stage));
    queues_.resize(programs_.size());
    done_.resize(programs_.size());
  }

  // True if all stages reach their end.
  bool run() {
    std::vector<std::size_t> at(programs_.size(), 0);
    for (bool moved = true; moved;) {
      moved = pass_messages();
      for (std::size_t stage = 0; stage < programs_.size(); ++stage)
        while (at[stage] < programs_[stage].size() && act(stage, programs_[stage][at[stage]])) {
          ++at[stage];
          moved = true;
        }
    }
    for (std::size_t stage = 0; stage < programs_.size(); ++stage)
      if (at[stage] < programs_[stage].size()) return false;
    return true;
  }

 private:
  bool act(std::size_t stage, const Action& action) {
    if (action.waits) return done_[stage].contains(action.number);
    queues_[stage][action.channel].push_back({action.sends, action.number});
    return true;
  }

  bool pass_messages() {
    bool moved = false;
    for (std::size_t a = 0; a < queues_.size(); ++a)
      for (auto& [key, mine] : queues_[a])
        for (std::size_t b = 0; b < queues_.size(); ++b) {
          if (a == b || !queues_[b].contains(key)) continue;
          auto& theirs = queues_[b][key];
          while (!mine.empty() && !theirs.empty() && mine.front().sends && !theirs.front().sends) {
            done_[a][mine.front().number] = done_[b][theirs.front().number] = true;
            mine.pop_front();
            theirs.pop_front();
            moved = true;
          }
        }
    return moved;
  }

  ChannelKey channel(int kind, std::int64_t from, std::int64_t to) const {
    return apart_ ? ChannelKey{kind, from, to}
                  : ChannelKey{0, std::min(from, to), std::max(from, to)};
  }

  std::vector<Action> program(std::int64_t stage) const {
    const auto stages = shape_.stages, last = stages * shape_.chunks - 1;
    const auto next = (stage + 1) % stages, before = (stage + stages - 1) % stages;
    std::vector<Action> all;
    std::int64_t number = 0;
    struct Inbox {
      ChannelKey from;
      std::int64_t left = 0;
      std::deque<std::int64_t> asked = {};
    } activations{channel(1, before, stage)}, gradients{channel(2, next, stage)};
    const auto inbox = [&](const Task& task) -> Inbox* {
      const auto here = task.chunk * stages + stage;
      if (task.pass == PipelinePass::forward && here > 0) return &activations;
      return task.pass == PipelinePass::backward && here < last ? &gradients : nullptr;
    };
    const auto ask = [&](Inbox& from) {
      if (from.left == 0) return;
      --from.left;
      all.push_back({false, from.from, false, number});
      from.asked.push_back(number++);
    };
    const auto list = tasks(shape_, stage);
    for (const auto& task : list)
      if (auto* from = inbox(task)) ++from->left;
    if (ahead_)
      for (auto* from : {&activations, &gradients}) ask(*from);
    std::vector<std::int64_t> sends;
    for (const auto& task : list) {
      if (auto* from = inbox(task)) {
        if (from->asked.empty()) ask(*from);
        all.push_back({true, {}, false, from->asked.front()});
        from->asked.pop_front();
        if (ahead_) ask(*from);
      }
      const auto here = task.chunk * stages + stage;
      if (task.pass == PipelinePass::forward && here < last)
        all.push_back({false, channel(1, stage, next), true, number});
      else if (task.pass == PipelinePass::backward && here > 0)
        all.push_back({false, channel(2, stage, before), true, number});
      else
        continue;
      sends.push_back(number++);
    }
    for (const auto sent : sends) all.push_back({true, {}, true, sent});
    return all;
  }

  const PipelineShape shape_;
  const bool apart_, ahead_;
  std::vector<std::vector<Action>> programs_;
  std::vector<std::map<ChannelKey, std::deque<Operation>>> queues_;
  std::vector<std::map<std::int64_t, bool>> done_;
};

}  // namespace

TEST_CASE("no schedule needs a message to be kept on its way", "[pipeline]") {
  for (std::int64_t stages = 2; stages <= 6; ++stages)
    for (std::int64_t chunks = 1; chunks <= 3; ++chunks)
      for (std::int64_t micro_batches = 1; micro_batches <= 14; ++micro_batches)
        for (const bool filled : {false, true})
          for (const bool ahead : {false, true}) {
            if (filled && chunks > 1) continue;
            CAPTURE(stages, chunks, micro_batches, filled, ahead);
            CHECK(Pipe({stages, chunks, micro_batches, filled}, true, ahead).run());
          }
}

// The test can fail: this is why there is a channel for each direction.
TEST_CASE("two neighbours with one channel for both directions hang", "[pipeline]") {
  CHECK_FALSE(Pipe({2, 1, 4}, false, true).run());
  CHECK_FALSE(Pipe({4, 1, 8}, false, true).run());
  CHECK_FALSE(Pipe({2, 2, 4}, false, false).run());
}

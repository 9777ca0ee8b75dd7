#include "backends/runtime/loop/checkpointer.h"

#include <chrono>
#include <utility>

#include "core/train/checkpoint/folders.h"

namespace orch::train {

Checkpointer::Checkpointer(fs::path folder, checkpoint::WriteOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  options_.give_up = [this, asked = options_.give_up] {
    return abandoned_.load() || (asked && asked());
  };
}

Checkpointer::~Checkpointer() {
  abandoned_ = true;
  if (writing_.valid()) writing_.wait();
}

void Checkpointer::save(checkpoint::CheckpointFacts facts, checkpoint::SavedState saved) {
  if (writing_.valid()) collect();
  // Its memory is freed with the thread's own copy as soon as it is written.
  writing_ = std::async(std::launch::async,
                        [this, facts = std::move(facts), saved = std::move(saved)]() mutable {
                          const auto mine = std::exchange(saved, {});
                          auto status = checkpoint::write(folder_, facts, mine, options_);
                          return CheckpointOutcome{std::move(facts), std::move(status)};
                        });
}

void Checkpointer::collect() {
  outcomes_.push_back(writing_.get());
  last_ = outcomes_.back().status;
  last_step_ = outcomes_.back().facts.step;
}

std::vector<CheckpointOutcome> Checkpointer::take_outcomes() {
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    collect();
  return std::exchange(outcomes_, {});
}

Status Checkpointer::finish() {
  if (writing_.valid()) collect();
  // Late ranks may have started it again: remove it, because a full disk needs the space.
  if (!last_ && options_.rank == 0)
    checkpoint::remove_leftovers(folder_, last_step_ + 1,
                                 checkpoint::attempt_token(options_.attempt));
  return last_;
}

}  // namespace orch::train

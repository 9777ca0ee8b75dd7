#include "backends/runtime/loop/checkpointer.h"

#include <chrono>
#include <exception>
#include <utility>

namespace orch::train {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

CheckpointOutcome write_timed(const fs::path& folder, checkpoint::Facts facts,
                              const checkpoint::Saved& saved,
                              const checkpoint::WriteOptions& options) {
  const auto begin = SteadyClock::now();
  CheckpointOutcome outcome;
  for (const auto& [piece, data, read] : saved.pieces)
    outcome.bytes += static_cast<std::size_t>(piece.end - piece.begin) * checkpoint::bytes_of(piece.dtype);
  outcome.status = checkpoint::write(folder, facts, saved, options);
  outcome.facts = std::move(facts);
  outcome.seconds = seconds_since(begin);
  return outcome;
}

}  // namespace

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

void Checkpointer::save(checkpoint::Facts facts, checkpoint::Saved saved) {
  const auto begin = SteadyClock::now();
  if (writing_.valid()) {
    collect();
    waited_seconds_ += seconds_since(begin);
  }
  // Its memory is freed with the thread's own copy as soon as it is written.
  writing_ = std::async(std::launch::async,
                        [this, facts = std::move(facts), saved = std::move(saved)]() mutable {
                          const auto mine = std::exchange(saved, {});
                          return write_timed(folder_, std::move(facts), mine, options_);
                        });
}

void Checkpointer::collect() {
  outcomes_.push_back(writing_.get());
  last_ = outcomes_.back().status;
}

std::vector<CheckpointOutcome> Checkpointer::take_outcomes() {
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    collect();
  return std::exchange(outcomes_, {});
}

Status Checkpointer::finish() {
  if (writing_.valid()) collect();
  return last_;
}

}  // namespace orch::train

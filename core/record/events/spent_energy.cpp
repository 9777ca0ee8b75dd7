#include <algorithm>
#include <cmath>

#include "core/base/plain_file.h"
#include "core/base/units.h"
#include "core/record/events/collect.h"
#include "core/record/events/event_line.h"

namespace orch::events {
namespace {

constexpr double kShort = 60;  // seconds; an attempt that ends so early need not know its energy

// The energy of an attempt: each power is that of the time since the one before it.
class AttemptEnergy {
 public:
  AttemptEnergy(const fs::path& folder, double start, double end) : last_(start) {
    const PlainFile file(folder / "events.jsonl");
    if (file.is_open())
      file.each_line(0, [this](std::string_view line) {
        if (const auto event = parse_event(line)) add(*event);
        return true;
      });
    hold(end);
    seconds_ = last_ - start;
  }

  std::optional<double> joules() const {
    if (counted_ >= 0) return counted_;
    return watts_ > 0 ? std::optional(sampled_) : std::nullopt;
  }
  bool is_short() const { return seconds_ <= kShort; }

 private:
  void add(const Event& event) {
    if (event.joules >= 0) counted_ = event.joules;
    if (event.name != "gpus" || !(event.watts > 0) || !(event.gpus > 0)) return;
    watts_ = event.watts * event.gpus;
    hold(event.time);
  }
  void hold(double until) {
    if (!(until > last_)) return;
    if (last_ > 0) sampled_ += watts_ * (until - last_);
    last_ = until;
  }

  double counted_ = -1, sampled_ = 0, watts_ = 0, last_, seconds_ = 0;
};

}  // namespace

std::optional<double> spent_kwh(const std::vector<fs::path>& attempt_folders,
                                const std::vector<record::Attempt>& attempts) {
  std::optional<double> sum;
  for (std::size_t i = 0; i < attempt_folders.size() && i < attempts.size(); ++i) {
    const auto& attempt = attempts[i];
    const AttemptEnergy energy(attempt_folders[i], attempt.start,
                               attempt.end > 0 ? attempt.end : attempt.seen);
    const auto joules = energy.joules();
    if (!joules && !energy.is_short()) return std::nullopt;
    if (joules) sum = sum.value_or(0) + *joules / kJoulesPerKwh;
  }
  return sum;
}

}  // namespace orch::events

#include "core/record/events/event_line.h"

#include <utility>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/record/named_text.h"

namespace orch::events {
namespace {

constexpr double kMostSteps = 1e15;

void set(Event& event, std::string_view key, std::string_view word) {
  static constexpr std::pair<std::string_view, double Event::*> kNumbers[] = {
      {"time", &Event::time},
      {"loss", &Event::loss},
      {"step_seconds", &Event::step_seconds},
      {"tokens", &Event::tokens},
      {"tokens_per_second", &Event::tokens_per_second},
      {"peak_memory_bytes", &Event::peak_memory},
      {"gradient_norm", &Event::gradient_norm},
      {"learning_rate", &Event::learning_rate},
      {"communicated_bytes", &Event::communicated},
      {"bubble", &Event::bubble},
      {"others_share", &Event::others_share},
      {"clock_mhz", &Event::clock_mhz},
      {"use", &Event::use},
      {"gpus", &Event::gpus},
      {"joules", &Event::joules},
      {"rank", &Event::rank},
      {"busy_seconds", &Event::busy_seconds},
      {"typical_seconds", &Event::typical_seconds},
      {"since", &Event::since},
      {"watts", &Event::watts}};
  for (const auto& [name, member] : kNumbers)
    if (key == name) event.*member = number_from<double>(word).value_or(Event::kNone);
  if (key != "step") return;
  const auto step = number_from<double>(word);
  if (step && *step >= 0 && *step <= kMostSteps) event.step = static_cast<std::int64_t>(*step);
}

}  // namespace

std::optional<Event> parse_event(std::string_view line) {
  if (!trim(line).starts_with('{')) return std::nullopt;
  Event event;
  const auto take = [&](std::string_view name, std::string_view value) {
    if (name == "event") event.name = value;
    set(event, name, value);
  };
  if (!record::each_value(line, take) || event.name.empty()) return std::nullopt;
  return event;
}

}  // namespace orch::events

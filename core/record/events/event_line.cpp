#include "core/record/events/event_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace orch::events {
namespace {

constexpr double kMostSteps = 1e15;

// Goes through one flat object. A document of its own for each of a thousand lines would take most
// of a poll's time, and it would not know NaN.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skip_space();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool at_end() {
    skip_space();
    return rest_.empty();
  }

  // A text as it is written, escapes and all; nothing if it does not end.
  std::optional<std::string_view> text() {
    if (!take('"')) return std::nullopt;
    std::size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return std::nullopt;
    return advance(end, 1);
  }

  // A number, NaN, true: all that is neither text nor nested.
  std::optional<std::string_view> word() {
    skip_space();
    const auto end = std::min(rest_.find_first_of(",}] \t\r\"{["), rest_.size());
    if (end == 0) return std::nullopt;
    return advance(end, 0);
  }

  // Past a list or an object. How brackets pair is not looked at.
  bool skip_nested() {
    int depth = 0;
    do {
      if (at_end()) return false;
      if (rest_[0] == '"') {
        if (!text()) return false;
        continue;
      }
      depth += rest_[0] == '{' || rest_[0] == '[';
      depth -= rest_[0] == '}' || rest_[0] == ']';
      rest_.remove_prefix(1);
    } while (depth > 0);
    return true;
  }

  char next() {
    skip_space();
    return rest_.empty() ? '\0' : rest_[0];
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r'))
      rest_.remove_prefix(1);
  }

  std::string_view advance(std::size_t length, std::size_t more) {
    const auto taken = rest_.substr(0, length);
    rest_.remove_prefix(length + more);
    return taken;
  }

  std::string_view rest_;
};

std::optional<double> finite(std::string_view word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

void set(Event& event, std::string_view key, std::string_view word) {
  using Member = std::optional<double> Event::*;
  static constexpr std::pair<std::string_view, Member> kNumbers[] = {
      {"time", &Event::time},
      {"loss", &Event::loss},
      {"step_seconds", &Event::step_seconds},
      {"tokens", &Event::tokens},
      {"tokens_per_second", &Event::tokens_per_second},
      {"peak_memory_bytes", &Event::peak_memory},
      {"gradient_norm", &Event::gradient_norm},
      {"learning_rate", &Event::learning_rate},
      {"communicated_bytes", &Event::communicated},
      {"bubble", &Event::bubble}};
  for (const auto& [name, member] : kNumbers)
    if (key == name) event.*member = finite(word);
  if (key != "step") return;
  const auto step = finite(word);
  if (step && *step >= 0 && *step <= kMostSteps) event.step = static_cast<std::int64_t>(*step);
}

bool read_field(Scanner& scanner, Event& event) {
  const auto key = scanner.text();
  if (!key || !scanner.take(':')) return false;
  const char first = scanner.next();
  if (first == '{' || first == '[') return scanner.skip_nested();
  if (first == '"') {
    const auto value = scanner.text();
    if (value && *key == "event") event.name = *value;
    return value.has_value();
  }
  const auto word = scanner.word();
  if (word) set(event, *key, *word);
  return word.has_value();
}

}  // namespace

std::optional<Event> parse_event(std::string_view line) {
  Scanner scanner(line);
  if (!scanner.take('{')) return std::nullopt;
  Event event;
  do {
    if (!read_field(scanner, event)) return std::nullopt;
  } while (scanner.take(','));
  if (!scanner.take('}') || !scanner.at_end() || event.name.empty()) return std::nullopt;
  return event;
}

}  // namespace orch::events

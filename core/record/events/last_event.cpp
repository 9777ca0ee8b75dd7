#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/json_fields.h"
#include "core/base/plain_file.h"
#include "core/base/text.h"
#include "core/record/events/collect.h"
#include "core/record/events/event_line.h"
#include "core/record/named_text.h"

namespace orch::events {
namespace {

using SortedJson = nlohmann::json;
using record::Failure;

constexpr std::int64_t kEnd = 64 << 10;  // enough for the last failure
constexpr std::int64_t kMostOfEvents = 4 << 20;
constexpr std::size_t kLongest = 200;  // characters of a message
constexpr std::size_t kMostItems = 1000;

// The last complete event of that name in the file's last bytes whose class is not the given one;
// null if there is none.
SortedJson last_event(const fs::path& file, std::string_view name, std::int64_t bytes,
                      std::string_view but = {}) {
  const PlainFile events(file);
  if (!events.is_open()) return {};
  const auto text =
      events.read(std::max<std::int64_t>(0, events.size() - bytes), std::min(bytes, events.size()));
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto at = rest.find_last_of('\n');
    const auto line = at == std::string_view::npos ? rest : rest.substr(at + 1);
    if (const auto event = parse_event(line); event && event->name == name)
      if (auto json = parse_json(line);
          json.is_object() && (but.empty() || json.value("class", SortedJson()) != but))
        return json;
    rest = at == std::string_view::npos ? std::string_view() : rest.substr(0, at);
  }
  return {};
}

std::string text_of(const SortedJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<plan::EstimateItem> items_of(const SortedJson& json, const char* key) {
  std::vector<plan::EstimateItem> items;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return items;
  for (const auto& [name, amount] : found->items())
    if (amount.is_number() && std::isfinite(amount.get<double>()) && items.size() < kMostItems)
      items.push_back({printable(name), "", amount.get<double>()});
  return items;
}

// The failures that a trainer can detect itself; others are known to the scheduler only.
Failure failure_of(std::string_view kind) {
  constexpr std::array kKnown{Failure::gpu_memory, Failure::host_memory, Failure::nccl,
                              Failure::node,       Failure::nan,         Failure::data,
                              Failure::disk};
  const auto failure = record::parse_failure(kind).value_or(Failure::bad_exit);
  return contains(kKnown, failure) ? failure : Failure::bad_exit;
}

}  // namespace

record::FailureReport read_failure(const fs::path& attempt_folder) {
  // Ranks that lose another one blame the network: ranks with a better reason count before them.
  const auto file = attempt_folder / "events.jsonl";
  auto event = last_event(file, "failed", kEnd, "nccl");
  if (event.is_null()) event = last_event(file, "failed", kEnd);
  if (event.is_null()) return {};
  return {failure_of(text_of(event, "class")),
          record::shortened(text_of(event, "message"), kLongest)};
}

bool read_profile(const fs::path& attempt_folder, record::Measurement& into) {
  const auto event = last_event(attempt_folder / "events.jsonl", "profile", kMostOfEvents);
  if (event.is_null()) return false;
  into.time_items = items_of(event, "time_items");
  into.memory_items = items_of(event, "memory_items");
  return true;
}

}  // namespace orch::events

#include "core/record/ingest/conclude.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/date.h"
#include "core/base/text.h"
#include "core/record/ingest/number.h"
#include "core/record/ingest/prefix.h"

namespace orch::ingest {
namespace {

plan::Value value_of(const std::string& text) {
  if (text == "True" || text == "true") return true;
  if (text == "False" || text == "false") return false;
  const auto number = to_number(text);
  if (!number) return text;
  if (*number == std::floor(*number) && std::abs(*number) < 9e15)
    return static_cast<std::int64_t>(*number);
  return *number;
}

// SLURM abbreviates five names as "node[01-04,07]".
std::vector<std::string> node_names(const std::string& list) {
  constexpr std::size_t kMost = 1024;
  std::vector<std::string> names;
  std::size_t at = 0;
  while (at < list.size() && names.size() < kMost) {
    auto end = at;
    for (bool inside = false; end < list.size() && (inside || list[end] != ','); ++end)
      inside = list[end] == '[' || (inside && list[end] != ']');
    const auto part = list.substr(at, end - at);
    at = end + 1;
    const auto open = part.find('['), close = part.find(']');
    if (open == std::string::npos || close == std::string::npos || close < open) {
      if (!part.empty()) names.push_back(printable(part));
      continue;
    }
    for (const auto& range : split(part.substr(open + 1, close - open - 1), ',')) {
      const auto dash = range.find('-');
      const auto low = range.substr(0, dash);
      const auto first = to_number(low);
      const auto last = dash == std::string::npos ? first : to_number(range.substr(dash + 1));
      if (!first || !last) continue;
      for (double i = *first; i <= *last && names.size() < kMost; ++i)
        names.push_back(printable(part.substr(0, open)) +
                        fmt::format("{:0{}}", static_cast<long>(i), low.size()) +
                        printable(part.substr(close + 1)));
    }
  }
  return names;
}

void fill_origin(const LoggedRun& run, const std::string& file, record::Origin& origin) {
  origin.kind = "log";
  origin.file = file;
  origin.first_line = static_cast<std::int64_t>(run.first_line);
  origin.last_line = static_cast<std::int64_t>(run.last_line);
  origin.start = seconds_of(run.first_stamp);
  const auto end = seconds_of(run.last_stamp);
  // An end before the start is possible: clocks of nodes differ, and logs are concatenated.
  if (end >= origin.start) origin.end = end;
  if (origin.start > 0) origin.date = format_day(origin.start);
  const std::vector<std::string> jobs(run.jobs.begin(), run.jobs.end());
  origin.job = join(jobs, ", ");
  origin.nodes = node_names(run.settings.text(IngestTarget::node_list));
  origin.versions.assign(run.versions.begin(), run.versions.end());
}

// Describes from which step on the loss is not finite; "" if it is finite.
std::string nan_words(const LoggedRun& run) {
  if (const auto lost = run.losses.lost())
    return fmt::format("loss is {} from step {} on", std::isnan(lost->loss) ? "NaN" : "infinite",
                       lost->step);
  return run.mean_is_nan ? "the mean loss of the training is NaN" : "";
}

void doubt_world_sizes(const LoggedRun& run, record::Record& record) {
  if (run.world_sizes.size() < 2) return;
  record.doubts.push_back(
      {"topology", "gpus",
       fmt::format("the log reports {} GPUs", and_list(mapped(run.world_sizes, [](auto size) {
                     return std::to_string(size);
                   })))});
}

}  // namespace

std::string with(const std::string& words, const std::string& more) {
  return words + (words.empty() || more.empty() ? "" : "; ") + more;
}

record::Record conclude(const LoggedRun& run, const TimerGroups& timers, const std::string& file,
                        const std::string& id) {
  record::Record record;
  record.id = id;
  record.source = std::filesystem::path(file).filename().string();
  if (record.source.empty()) record.source = file;
  fill_origin(run, file, record.origin);
  fill_fields(run, record);
  auto computed = complete_from_counters(run, record);
  fill_measurement(run, timers, record);
  for (auto& word : complete_from_time(run, record)) computed.push_back(word);
  note_layout(run, record);
  fill_rates(run, record);
  fill_hours(run, record);
  record.measured.stated = run.stated;
  fill_end(run, record);
  if (!computed.empty()) record.notes = with(record.notes, "computed: " + join(computed, ", "));
  for (const auto& assumed : record.assumptions)
    record.notes = with(record.notes, "assumed: " + assumed);
  if (const auto words = nan_words(run); !words.empty()) {
    record.reason = with(record.reason, words);
    record.notes = with(record.notes, words);
  }
  for (const auto& [name, value] : run.more) record.set(name, value_of(value));
  record.arguments.assign(run.arguments.begin(), run.arguments.end());
  if (const auto padded = run.settings.whole(IngestTarget::vocab_padded))
    record.set("padded_vocab", *padded);
  doubt_world_sizes(run, record);
  return record;
}

}  // namespace orch::ingest

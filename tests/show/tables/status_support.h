#pragma once

#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/show/tables/status.h"

// States of runs, made by hand.
namespace orch::tables::test {

inline RunStatus run_status(const std::string& id, record::RunState state,
                            const std::string& reason = "") {
  RunStatus run;
  run.record.id = id;
  run.record.set("gpus", std::int64_t{4});
  run.record.measured.gpu_hours = 0;
  run.record.measured.steps_planned = 500;
  run.record.estimated.emplace().step_seconds = 0.5;
  run.record.estimated->step_low = 0.4;
  run.record.estimated->step_high = 0.6;
  run.record.estimated->days_per_100b_tokens = 20;
  run.record.estimated->gpu_hours = 2;
  run.take(record::StateVerdict{state, record::Failure::none, reason});
  return run;
}

inline RunStatus measured(const std::string& id, record::RunState state, std::int64_t step) {
  auto run = run_status(id, state);
  auto& measured = run.record.measured;
  measured.steps = step;
  measured.last_loss = 3.14159;
  measured.step_seconds = statistics::Interval{1, {}, {}, 1};
  measured.tokens_per_second = 1e11 / 86400 / 40;  // 40 days per 100B
  run.record.measured.gpu_hours = 1.5;
  run.elapsed_seconds = 754;
  return run;
}

inline Standings standings_of(std::vector<RunStatus> runs) {
  Standings out;
  out.experiment = "sweep";
  out.runs = std::move(runs);
  return out;
}

inline std::string status_table(const Standings& standings, const show::Screen& screen,
                                std::size_t top) {
  return show::text(tables::status_table(standings, top), screen);
}
inline std::string measured_table(const Standings& standings, const show::Screen& screen) {
  return show::text(tables::measured_table(standings), screen);
}
inline std::string status_csv(const std::vector<Standings>& all) {
  return show::text_as("csv", status_answer(all, 0), {});
}
inline std::string status_json(const std::vector<Standings>& all) {
  return show::text_as("json", status_answer(all, 0), {});
}

inline std::vector<std::string> lines_of(const std::string& text) {
  auto lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

inline std::size_t widest(const std::string& text) {
  std::size_t out = 0;
  for (const auto& line : lines_of(text)) out = std::max(out, display_width(line));
  return out;
}

// True if a terminal obeys none of the bytes except line ends.
inline bool is_harmless(const std::string& text) {
  for (const auto& line : lines_of(text))
    if (printable(line) != line) return false;
  return true;
}

inline const std::string kHostile =
    "a\033[2J\r\x07\xc2\x9b"
    "31m\xff\nb";

}  // namespace orch::tables::test

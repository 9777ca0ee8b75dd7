#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/record/ingest/run.h"

namespace orch::ingest {

// Where a piece of text was found.
struct TextPlace {
  std::uint64_t line = 0;
  std::string_view label, stamp;
  std::string_view text;  // the line without its prefix
};

// These add the values of a line to its run.
void note_place(const Rule& rule, const TextPlace& where, LoggedRun& run);
void note_settings(const Rule& rule, const TargetValues& values, LoggedRun& run);
void note_totals(const TargetValues& values, LoggedRun& run);
void note_end(const Rule& rule, const TextPlace& where, LoggedRun& run);
void note_step(const Rule& rule, const TargetValues& values, const TextPlace& where,
               std::int64_t step, const LoggedPace& pace, LoggedRun& run);
// Is called for every rank, also those whose steps are not counted.
void note_rank_pace(const TextPlace& where, std::int64_t step, const LoggedPace& pace,
                    LoggedRun& run);
void note_loss_line(const Rule& rule, const TargetValues& values, const TextPlace& where,
                    LoggedRun& run);
bool tells_memory(const TargetValues& values);
void note_memory(const TargetValues& values, const TextPlace& where, LoggedRun& run);
void note_timer(const TargetValues& values, LoggedRun& run);
void note_bar(const TargetValues& values, LoggedRun& run);

// The value as the number of a step; -1 if it cannot be one.
std::int64_t to_step(double value);
// The time of a step as its line states it, or its rate.
LoggedPace pace_of(const TargetValues& values);

// The time of a step and a mark of its loss. A copy of the line has exactly the same ones.
LoggedStepTimes::Kept shape_of(const TargetValues& values, double seconds);

}  // namespace orch::ingest

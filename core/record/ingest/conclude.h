#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/record/ingest/ingest.h"
#include "core/record/ingest/run.h"

namespace orch::ingest {

// Of ranks, samples and the like: logs are hostile, and products of these must not overflow.
inline constexpr std::int64_t kMostCount = 1'000'000'000;
std::optional<std::int64_t> whole_count(double value);  // from 1 to that; nothing: it is none

// A run as the rest of orch knows it, as its log says it; what was not given of layout and batch
// and follows from what was is filled in.
record::Record conclude(const LoggedRun& run, const TimerGroups& timers, const std::string& file,
                        const std::string& id);

std::string with(const std::string& words, const std::string& more);  // "words; more"

// The parts of it.
void fill_fields(const LoggedRun& run, record::Record& record);
// What is missing in a record's layout and batch, and follows from the rest of it.
void complete_counts(const LoggedRun& run, record::Record& record);
// Frameworks that divide models do not always say how: then one part is assumed, and marked so.
void note_layout(const LoggedRun& run, record::Record& record);
// What rates and counters tell of the batch and the GPUs, before the time of a step is known and
// after; how is said in words, one for each.
std::vector<std::string> complete_from_counters(const LoggedRun& run, record::Record& record);
std::vector<std::string> complete_from_time(const LoggedRun& run, record::Record& record);
// How many of what its lines count are a step: 1, or micro-batches where those are counted.
double lines_of_step(const LoggedRun& run, const record::Record& record);
// The tokens of a step.
std::optional<double> batch_tokens(const LoggedRun& run, const record::Record& record);
void fill_measurement(const LoggedRun& run, const TimerGroups& timers, record::Record& record);
// The time of a step; gives the steps that were dropped as warm-up. How many steps were done is
// known before.
std::vector<std::int64_t> fill_time(const LoggedRun& run, record::Record& record);
// Tokens and samples per second, once all that is known of the batch is in the record.
void fill_rates(const LoggedRun& run, record::Record& record);
// GPU-hours, once the number of GPUs is known.
void fill_hours(const LoggedRun& run, record::Record& record);
void fill_end(const LoggedRun& run, record::Record& record);

// What the end says: train_runtime and its kind.
std::optional<double> total(const LoggedRun& run, IngestTarget target);
// The bar of the training: the one with as many steps as were planned, else the one that took
// longest. Null: there is none.
const ProgressBar* training_bar(const LoggedRun& run);

}  // namespace orch::ingest

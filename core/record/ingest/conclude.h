#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/record/ingest/ingest.h"
#include "core/record/ingest/run.h"

namespace orch::ingest {

// The largest count (of ranks, samples and so on) that a log is trusted with: the product of two
// such counts does not overflow.
inline constexpr std::int64_t kMostCount = 1'000'000'000;
// The value as a count from 1 to kMostCount; nothing if it is not such an integer.
std::optional<std::int64_t> whole_count(double value);

// The record of a run from its log. Fields of the layout and the batch that the log does not state
// are computed from those that it does.
record::Record conclude(const LoggedRun& run, const TimerGroups& timers, const std::string& file,
                        const std::string& id);

std::string with(const std::string& words, const std::string& more);  // "words; more"

// These functions are the steps of conclude().
void fill_fields(const LoggedRun& run, record::Record& record);
// Computes missing fields of the layout and the batch from the other fields of the record.
void complete_counts(const LoggedRun& run, record::Record& record);
// Some frameworks can split a model without printing how. A degree of 1 that their log does not
// state is marked as assumed.
void note_layout(const LoggedRun& run, record::Record& record);
// These compute the batch size and the number of GPUs from counters and rates: the first without
// the time of a step, the second with it. They return one description per computed field.
std::vector<std::string> complete_from_counters(const LoggedRun& run, record::Record& record);
std::vector<std::string> complete_from_time(const LoggedRun& run, record::Record& record);
// The number of counted units per step: 1, or the micro-batches of a step if the log counts those.
double lines_of_step(const LoggedRun& run, const record::Record& record);
// The number of tokens per step.
std::optional<double> batch_tokens(const LoggedRun& run, const record::Record& record);
void fill_measurement(const LoggedRun& run, const TimerGroups& timers, record::Record& record);
// Fills in the time of a step and returns the steps that were dropped as warm-up. The number of
// steps must already be in the record.
std::vector<std::int64_t> fill_time(const LoggedRun& run, record::Record& record);
// Fills in tokens and samples per second. The batch must already be in the record.
void fill_rates(const LoggedRun& run, record::Record& record);
// Fills in the GPU-hours. The number of GPUs must already be in the record.
void fill_hours(const LoggedRun& run, record::Record& record);
void fill_end(const LoggedRun& run, record::Record& record);

// The last step of a Trainer that stopped before its planned steps, from the epoch that it reached.
// Its own rates count the planned steps.
std::optional<std::int64_t> early_stop(const LoggedRun& run, const record::Record& record);

// A total that is printed at the end of the training, such as train_runtime.
std::optional<double> total(const LoggedRun& run, IngestTarget target);
// The progress bar of the training: the one with as many steps as were planned or, if that number
// is unknown, the one that took longest. Null if there is none.
const ProgressBar* training_bar(const LoggedRun& run);

}  // namespace orch::ingest

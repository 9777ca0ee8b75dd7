#pragma once

#include <optional>
#include <string>

#include "core/record/record.h"

namespace orch::published {

// A record as its source states it: each cell of a table, or value of a log, is a field or a
// measurement, without anything derived from them (complete). Columns that the vocabulary does not
// have are fields by their own names: pp_chunks and grad_accum (micro-batches, depending on the
// table), mem_of (first or fullest), suspect, dup_of, and inferred (columns not stated by the
// source itself, separated by ";").

// Measured values as stated.
std::optional<double> step_time(const record::Record& record);  // seconds
std::optional<double> memory_gib(const record::Record& record);
std::optional<double> stated_tflops(const record::Record& record);  // per GPU
std::string tflops_formula(const record::Record& record);           // "": unknown
std::string status_of(const record::Record& record);                // ok, oom, hang, failed or ""

// The parameters in the model's name, in 1e9.
std::optional<double> billions(const record::Record& record);

// True if its table marks it as contradictory, or as a copy of another row.
bool left_out(const record::Record& record);

// Adds what follows from a stated record: the strategy, the number of parameters, the accumulation,
// tokens per second, days. Fields are sorted by column, those not stated by the source are marked
// as assumed, and a table's own marks become doubts.
void complete(record::Record& record);

// Adds the TFLOPs per GPU computed from a record's step time and sizes by the megatron convention,
// unless it states them by that convention or an input is unknown.
void add_tflops(record::Record& record);

}  // namespace orch::published

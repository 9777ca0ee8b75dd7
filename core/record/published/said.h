#pragma once

#include <optional>
#include <string>

#include "core/record/record.h"

namespace orch::published {

// A record as its source says it: each cell of a table, or each word of a log, is a field or a
// measurement, and what follows from them is not yet there (complete). Columns that the
// vocabulary does not have are fields by their own names: pp_chunks and grad_accum (micro-batches,
// by whose table it is), mem_of (first or fullest), suspect, dup_of, and inferred (columns that are
// not the source's word, with ";" between).

// What was measured, as said.
std::optional<double> step_time(const record::Record& record);  // seconds
std::optional<double> memory_gib(const record::Record& record);
std::optional<double> stated_tflops(const record::Record& record);  // per GPU
std::string tflops_formula(const record::Record& record);           // "": not given
std::string status_of(const record::Record& record);                // ok, oom, hang, failed or ""

// The parameters as they are called, in 1e9.
std::optional<double> billions(const record::Record& record);

// Whether it contradicts itself, by whoever made its table, or was printed elsewhere as well.
bool left_out(const record::Record& record);

// Adds to a record as it was said what follows from it: the strategy, the number of
// parameters, the accumulation, tokens per second, days. Fields come in the order of columns, those
// that are not the source's word are marked as assumed, and a table's own marks are doubts.
void complete(record::Record& record);

// Adds the TFLOPs per GPU that follow from a record's step time and sizes, by the megatron
// convention, unless the record has them stated by it or something is not known.
void add_tflops(record::Record& record);

}  // namespace orch::published

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ingest/ingest.h"
#include "core/ingest/run.h"

namespace orch::ingest {

// A run as the rest of orch knows it: what was not said and follows from what was is filled in.
Found conclude(const Run& run, const TimerGroups& timers, const std::string& file,
               const std::string& id);

// The parts of it.
void fill_row(const Run& run, measured::Row& row);
void fill_measurement(const Run& run, const TimerGroups& timers, const measured::Row& row,
                      record::Measurement& out, std::string& notes);
// The time of a step; gives the steps that were dropped as warm-up. out.steps is known before.
std::vector<std::int64_t> fill_time(const Run& run, const measured::Row& row,
                                    record::Measurement& out);
void fill_end(const Run& run, record::Record& record);

// What the end says: train_runtime and its kind.
std::optional<double> total(const Run& run, Target target);
// The bar of the training: the one with as many steps as were planned, else the one that took
// longest. Null: there is none.
const Bar* training_bar(const Run& run);

}  // namespace orch::ingest

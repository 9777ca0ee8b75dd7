#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/csv.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// A column of the side-by-side table.
struct Column {
  std::string title;
  int rank;    // 0 always stays; the highest rank is the first to go on a narrow screen
  bool input;  // what was asked, not what came out: said once above the table if all runs share it
  std::function<std::string(const plan::Planned&)> text;
};

// Settings that all runs of a strategy share: said once above the table.
using Common = std::map<std::string, std::set<std::string>>;
Common common_settings(const std::vector<const plan::Planned*>& runs);

// All columns of a result. The strategy's leaves out the settings that are said already.
inline constexpr std::string_view kStrategy = "strategy";
std::vector<Column> columns(const Result& result, const Common& common);

// The same in CSV, with everything in bytes, seconds and days.
inline constexpr std::string_view kCsvHeader =
    "rank,tie,id,strategy,variant,backend,model,cluster,partition,gpus,nodes,tensor_parallel,"
    "pipeline_parallel,data_parallel,micro_batch,accumulate,global_batch,fit,"
    "peak_memory_bytes,memory_low,memory_high,step_seconds,step_low,step_high,tflops_per_gpu,"
    "tokens_per_second,days_per_100b_tokens,days_to_train,days_low,days_high,gpu_hours";
std::vector<std::vector<CsvCell>> csv_rows(const Result& result);

// Inputs that are the same in every run, as "title text", and the other columns.
struct Split {
  std::vector<const Column*> varying;
  std::vector<std::string> common;
};
Split split_columns(const std::vector<Column>& columns,
                    const std::vector<const plan::Planned*>& runs);

}  // namespace orch::tables

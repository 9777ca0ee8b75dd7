#include "core/record/published/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "core/base/text.h"

namespace orch::published {
namespace {

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  if (code != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

Flaw read_number(std::string_view cell, const Column& column, bool whole, double& value) {
  const auto wanted = fmt::format("give {} from {:g} to {:g}, or nothing",
                                  whole ? "a whole number" : "a number", column.min, column.max);
  const auto shown = "'" + printable(cell) + "'";
  const auto found = number(cell);
  if (!found)
    return {shown + " is not a number", cell.find(',') == std::string_view::npos
                                            ? wanted
                                            : "write it without commas, with a point"};
  if (whole && *found != std::floor(*found)) return {shown + " is not a whole number", wanted};
  if (*found < column.min || *found > column.max) return {shown + " is out of range", wanted};
  value = *found;
  return {};
}

Flaw read_flag(std::string_view cell, std::optional<bool>& out) {
  const auto word = lower(cell);
  if (word == "true" || word == "yes" || word == "1") out = true;
  if (word == "false" || word == "no" || word == "0") out = false;
  if (out) return {};
  return {"'" + printable(cell) + "' is not true or false", "give true, false or nothing"};
}

Flaw read_text(std::string_view cell, const Column& column, std::string& out) {
  out = column.words.empty() ? std::string(cell) : lower(cell);
  if (column.words.empty() ||
      std::find(column.words.begin(), column.words.end(), out) != column.words.end())
    return {};
  return {"'" + printable(cell) + "' is none of its words", suggestion(out, column.words)};
}

}  // namespace

// The limits are those of an experiment: far beyond any machine, to stop typing errors.
const std::vector<Column>& columns() {
  static const std::vector<Column> kColumns{
      {"id", "", &Row::id},
      {"source", "", &Row::source},
      {"table", "", &Row::table},
      {"date", "", &Row::date},
      {"site", "cluster", &Row::site},
      {"gpu", "gpu", &Row::gpu},
      {"gpus", "gpus", &Row::gpus, 1, 1e7},
      {"nodes", "nodes", &Row::nodes, 1, 1e7},
      {"gpus_per_node", "gpus_per_node", &Row::gpus_per_node, 1, 1e4},
      {"framework", "framework", &Row::framework},
      {"stack", "stack", &Row::stack},
      {"layers", "layers", &Row::layers, 1, 1e5},
      {"hidden", "hidden", &Row::hidden, 1, 1e7},
      {"heads", "heads", &Row::heads, 1, 1e6},
      {"vocab", "vocab", &Row::vocab, 1, 1e8},
      {"seq", "seq", &Row::seq, 1, 1e8},
      {"params_b", "params", &Row::params_b, 1e-6, 1e6},
      {"family", "family", &Row::family, 0, 0, {"gpt", "bloom", "llama", "mpt", "nemotron"}},
      {"ffn_hidden", "ffn_hidden", &Row::ffn_hidden, 1, 1e8},
      {"kv_heads", "kv_heads", &Row::kv_heads, 1, 1e6},
      {"tied", "tied", &Row::tied},
      {"tp", "tensor_parallel", &Row::tp, 1, 65536},
      {"pp", "pipeline_parallel", &Row::pp, 1, 65536},
      {"dp", "data_parallel", &Row::dp, 1, 1e7},
      {"context_parallel", "context_parallel", &Row::context_parallel, 1, 65536},
      {"pp_chunks", "", &Row::pp_chunks, 1, 1e8},
      {"interleave", "interleave", &Row::interleave, 1, 1e4},
      {"mbs", "micro_batch", &Row::mbs, 1, 1e6},
      {"gas", "accumulate", &Row::gas, 1, 1e8},
      {"gbs", "global_batch", &Row::gbs, 1, 1e9},
      {"zero_stage", "zero_stage", &Row::zero_stage, 0, 3},
      {"sharding", "sharding", &Row::sharding},
      {"engine", "engine", &Row::engine, 0, 0, {"megatron", "deepspeed", "nanotron"}},
      {"cross_entropy", "cross_entropy", &Row::cross_entropy, 0, 0, {"plain", "fused"}},
      {"offload", "offload", &Row::offload},
      {"act_ckpt", "recompute", &Row::act_ckpt},
      {"flash_attn", "flash_attention", &Row::flash_attn},
      {"sequence_parallel", "sequence_parallel", &Row::sequence_parallel},
      {"master_weights", "master_weights", &Row::master_weights},
      {"fp32_accumulate", "fp32_accumulate", &Row::fp32_accumulate},
      {"offload_activations", "offload_activations", &Row::offload_activations},
      {"dtype", "dtype", &Row::dtype},
      {"optimizer", "optimizer", &Row::optimizer},
      {"grad_compression", "compression", &Row::grad_compression},
      {"grad_accum", "", &Row::grad_accum, 0, 1e8},
      {"launch_blocking", "launch_blocking", &Row::launch_blocking},
      {"partition_method", "partition_method", &Row::partition_method},
      {"step_time_s", "", &Row::step_time_s, 1e-6, 1e7},
      {"samples_per_s", "", &Row::samples_per_s, 1e-9, 1e9},
      {"tflops_per_gpu", "", &Row::tflops_per_gpu, 1e-6, 1e5},
      {"tflops_formula", "", &Row::tflops_formula},
      {"days_per_100b_tokens", "", &Row::days_per_100b_tokens, 1e-6, 1e9},
      {"mem_gb", "", &Row::mem_gb, 1e-3, 1e5},
      {"mem_of", "", &Row::mem_of, 0, 0, {"first", "fullest"}},
      {"status", "", &Row::status, 0, 0, {"ok", "oom", "hang", "failed"}},
      {"suspect", "", &Row::suspect},
      {"dup_of", "", &Row::dup_of},
      {"notes", "", &Row::notes},
      {"inferred", "", &Row::inferred},
  };
  return kColumns;
}

Flaw read_cell(std::string_view cell, const Column& column, Row& row) {
  if (const auto* text = std::get_if<TextCell>(&column.member))
    return read_text(cell, column, row.*(*text));
  if (const auto* flag = std::get_if<FlagCell>(&column.member))
    return read_flag(cell, row.*(*flag));
  double value = 0;
  const auto* count = std::get_if<CountCell>(&column.member);
  auto flaw = read_number(cell, column, count != nullptr, value);
  if (!flaw.none()) return flaw;
  if (count)
    row.*(*count) = static_cast<std::int64_t>(value);
  else
    row.*std::get<RealCell>(column.member) = value;
  return {};
}

bool is_empty(const Column& column, const Row& row) {
  if (const auto* text = std::get_if<TextCell>(&column.member)) return (row.*(*text)).empty();
  if (const auto* flag = std::get_if<FlagCell>(&column.member)) return !(row.*(*flag));
  if (const auto* count = std::get_if<CountCell>(&column.member)) return !(row.*(*count));
  return !(row.*std::get<RealCell>(column.member));
}

std::string cell_text(const Column& column, const Row& row) {
  if (is_empty(column, row)) return {};
  if (const auto* text = std::get_if<TextCell>(&column.member)) return row.*(*text);
  if (const auto* flag = std::get_if<FlagCell>(&column.member))
    return *(row.*(*flag)) ? "true" : "false";
  if (const auto* count = std::get_if<CountCell>(&column.member))
    return fmt::format("{}", *(row.*(*count)));
  return fmt::format("{}", *(row.*std::get<RealCell>(column.member)));
}

}  // namespace orch::published

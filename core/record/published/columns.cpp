#include "core/record/published/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "core/base/date.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/published/said.h"

namespace orch::published {
namespace {

using plan::Value;
using record::Measurement, record::Record;

CellError read_number(std::string_view cell, const PublishedColumn& column, bool whole,
                      double& value) {
  const auto found = number_from<double>(cell);
  const bool is_whole = found && *found == std::floor(*found);
  if (found && (is_whole || !whole) && *found >= column.min && *found <= column.max) {
    value = *found;
    return {};
  }
  const auto wanted = fmt::format("give {} from {:g} to {:g}, or nothing",
                                  whole ? "an integer" : "a number", column.min, column.max);
  const auto shown = "'" + printable(cell) + "'";
  if (!found)
    return {shown + " is not a number", cell.find(',') == std::string_view::npos
                                            ? wanted
                                            : "write it without commas, with a point"};
  return {shown + (whole && !is_whole ? " is not an integer" : " is out of range"), wanted};
}

CellError read_flag(std::string_view cell, bool& out) {
  const auto word = lower(cell);
  out = word == "true" || word == "yes" || word == "1";
  if (out || word == "false" || word == "no" || word == "0") return {};
  return {"'" + printable(cell) + "' is not true or false", "give true, false or nothing"};
}

CellError read_text(std::string_view cell, const PublishedColumn& column, std::string& out) {
  out = column.words.empty() ? std::string(cell) : lower(cell);
  if (column.words.empty() || contains(column.words, out)) return {};
  return {"'" + printable(cell) + "' is not one of its values", suggestion(out, column.words)};
}

// A date as far as it is known: YYYY, YYYY-MM or YYYY-MM-DD, which compare as strings.
CellError read_date(std::string_view cell, std::string& out) {
  const std::string_view rest = "2000-01-01";
  out = cell;
  const bool form = cell.size() == 4 || cell.size() == 7 || cell.size() == rest.size();
  if (form && parse_date(out + std::string(rest.substr(cell.size())))) return {};
  return {"'" + printable(cell) + "' is not a date", "write YYYY, YYYY-MM or YYYY-MM-DD"};
}

CellError read_value(std::string_view cell, const PublishedColumn& column, Value& out) {
  if (column.type == CellKind::date) return read_date(cell, out.emplace<std::string>());
  if (column.type == CellKind::text) return read_text(cell, column, out.emplace<std::string>());
  if (column.type == CellKind::flag) return read_flag(cell, out.emplace<bool>());
  double value = 0;
  auto flaw = read_number(cell, column, column.type == CellKind::count, value);
  if (!flaw.none()) return flaw;
  if (column.type == CellKind::count)
    out = static_cast<std::int64_t>(value);
  else
    out = value;
  return {};
}

PublishedColumn text(const char* field, std::vector<std::string> words = {}) {
  return {field, CellKind::text, 0, 0, std::move(words)};
}
PublishedColumn flag(const char* field) { return {field, CellKind::flag}; }
PublishedColumn count(const char* field, double max, double min = 1) {
  return {field, CellKind::count, min, max};
}
// A column about the row itself, not about the run.
PublishedColumn about(PublishedColumn column) {
  column.of_run = false;
  return column;
}

// A column without a field of the record.
using Get = Value (*)(const Record&);
using Put = void (*)(Record&, const Value&);
PublishedColumn apart(const char* name, PublishedColumn column, Get get, Put put) {
  column.of_run = !column.field.empty();
  column.name = name;
  column.get = get;
  column.put = put;
  return column;
}

Value said(const std::string& text) { return text.empty() ? Value() : Value(text); }
Value said(const std::optional<double>& number) { return number ? Value(*number) : Value(); }

template <std::string Record::*kMember>
PublishedColumn word(const char* name) {
  return apart(
      name, {}, [](const Record& r) { return said(r.*kMember); },
      [](Record& r, const Value& v) { r.*kMember = std::get<std::string>(v); });
}

template <std::optional<double> Measurement::*kMember>
PublishedColumn rate(const char* name, double min, double max) {
  return apart(
      name, {"", CellKind::real, min, max},
      [](const Record& r) { return said(r.measured.*kMember); },
      [](Record& r, const Value& v) { r.measured.*kMember = std::get<double>(v); });
}

record::Tflops& tflops_of(Record& record) {
  auto& tflops = record.measured.tflops;
  return tflops.empty() ? tflops.emplace_back() : tflops.front();
}

// Tables have no reason of their own.
std::string notes_of(const Record& record) {
  const bool failed = record.origin.kind == "log" && record.state == record::RunState::failed;
  if (!failed || record.reason.empty()) return record.notes;
  return record.reason + (record.notes.empty() ? "" : "; ") + record.notes;
}

void set_status(Record& record, const Value& value) {
  using record::Failure, record::RunState;
  const auto& word = std::get<std::string>(value);
  record.state = word == "ok" ? RunState::finished : RunState::failed;
  record.failure = word == "oom"    ? Failure::gpu_memory
                   : word == "hang" ? Failure::hang
                                    : Failure::none;
  record.reason = word == "oom" ? "out of memory" : word == "hang" ? "hung" : "failed";
  if (word == "ok") record.reason.clear();
}

std::vector<PublishedColumn> measured_columns() {
  return {
      apart(
          "step_time_s", {"", CellKind::real, 1e-6, 1e7},
          [](const Record& r) { return said(step_time(r)); },
          [](Record& r, const Value& v) {
            r.measured.step_seconds = statistics::Interval{std::get<double>(v), {}, {}, 1};
          }),
      rate<&Measurement::samples_per_second>("samples_per_s", 1e-9, 1e9),
      apart(
          "tflops_per_gpu", {"", CellKind::real, 1e-6, 1e5},
          [](const Record& r) { return said(stated_tflops(r)); },
          [](Record& r, const Value& v) { tflops_of(r).value = std::get<double>(v); }),
      apart(
          "tflops_formula", {}, [](const Record& r) { return said(tflops_formula(r)); },
          [](Record& r, const Value& v) { tflops_of(r).convention = std::get<std::string>(v); }),
      rate<&Measurement::days_per_100b_tokens>("days_per_100b_tokens", 1e-6, 1e9),
      apart(
          "mem_gb", {"", CellKind::real, 1e-3, 1e5},
          [](const Record& r) { return said(memory_gib(r)); },
          [](Record& r, const Value& v) {
            r.measured.peak_memory_bytes = std::get<double>(v) * kGiB;
          }),
      about(text("mem_of", {"first", "fullest", "allocated"})),
      apart(
          "status", text("", {"ok", "oom", "hang", "failed"}),
          [](const Record& r) { return said(status_of(r)); }, set_status),
  };
}

// The limits are those of an experiment: far beyond any machine, to catch typing errors.
std::vector<PublishedColumn> all_columns() {
  std::vector<PublishedColumn> out{
      word<&Record::id>("id"),
      word<&Record::source>("source"),
      word<&Record::table>("table"),
      apart(
          "date", {"", CellKind::date}, [](const Record& r) { return said(r.origin.date); },
          [](Record& r, const Value& v) { r.origin.date = std::get<std::string>(v); }),
      text("cluster"),
      text("gpu"),
      count("gpus", 1e7),
      count("nodes", 1e7),
      count("gpus_per_node", 1e4),
      text("framework"),
      text("stack"),
      count("layers", 1e5),
      count("hidden", 1e7),
      count("heads", 1e6),
      count("vocab", 1e8),
      count("seq", 1e8),
      apart(
          "params_b", {"params", CellKind::real, 1e-6, 1e6},
          [](const Record& r) { return said(billions(r)); },
          [](Record& r, const Value& v) {
            r.set("params", std::round(std::get<double>(v) * 1e9));
          }),
      text("family", {"gpt", "bloom", "llama", "mpt", "nemotron", "moe"}),
      count("ffn_hidden", 1e8),
      count("kv_heads", 1e6),
      flag("tied"),
      count("head_dim", 1e7),
      flag("qk_norm"),
      flag("swiglu"),
      flag("rms_norm"),
      flag("rope"),
      flag("bias"),
      count("experts", 1e6),
      count("experts_per_token", 1e6),
      count("shared_experts", 1e6, 0),
      count("expert_hidden", 1e8),
      count("dense_layers", 1e5, 0),
      count("q_rank", 1e7, 0),
      count("kv_rank", 1e7, 0),
      count("rope_dim", 1e7, 0),
      count("value_dim", 1e7, 0),
      count("tensor_parallel", 65536),
      count("pipeline_parallel", 65536),
      count("data_parallel", 1e7),
      count("context_parallel", 65536),
      count("expert_parallel", 65536),
      count("expert_tensor_parallel", 65536),
      text("expert_dispatch"),
      flag("overlap_experts"),
      text("cuda_graphs", {"none", "router", "attention", "all"}),
      count("mtp_layers", 16, 0),
      text("stage_layers"),
      count("pp_chunks", 1e8),
      count("interleave", 1e4),
      count("micro_batch", 1e6),
      count("accumulate", 1e8),
      count("global_batch", 1e9),
      count("zero_stage", 3, 0),
      text("sharding"),
      text("engine", {"megatron", "deepspeed", "nanotron"}),
      text("cross_entropy", {"plain", "fused"}),
      text("offload"),
      text("recompute"),
      text("recompute_modules"),
      flag("flash_attention"),
      flag("sequence_parallel"),
      flag("overlap_tensor"),
      flag("keep_gathered"),
      flag("master_weights"),
      flag("fp32_accumulate"),
      flag("offload_activations"),
      count("offload_layers", 1e5, 0),
      text("offload_modules"),
      text("dropout_masks", {"usual", "yes", "no"}),
      text("dtype"),
      text("optimizer"),
      text("compression"),
      count("grad_accum", 1e8, 0),
      flag("launch_blocking"),
      text("partition_method"),
  };
  for (auto& column : measured_columns()) out.push_back(std::move(column));
  out.push_back(about(flag("suspect")));
  out.push_back(about(text("dup_of")));
  out.push_back(apart(
      "notes", {}, [](const Record& r) { return said(notes_of(r)); },
      [](Record& r, const Value& v) { r.notes = std::get<std::string>(v); }));
  out.push_back(about(text("inferred")));
  return out;
}

const PublishedColumn* find_column(std::string_view name) {
  for (const auto& column : columns())
    if (column.name == name || (!column.field.empty() && column.field == name)) return &column;
  return nullptr;
}

std::vector<std::string> names_to_set() {
  std::vector<std::string> out;
  for (const auto& column : columns()) {
    out.push_back(column.name);
    if (!column.field.empty() && column.field != column.name) out.push_back(column.field);
  }
  return out;
}

// "7B" and "7e9" in the form of the column params_b; other text is left for the reader to refuse.
std::string in_billions(std::string text) {
  double value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  if (code != std::errc()) return text;
  if (unit == "B" || unit == "b") return fmt::format("{}", value);
  if (unit == "M" || unit == "m") return fmt::format("{}", value / 1e3);
  return unit.empty() ? fmt::format("{}", value / 1e9) : text;
}

}  // namespace

const std::vector<PublishedColumn>& columns() {
  static const auto kColumns = [] {
    auto out = all_columns();
    for (auto& column : out) {
      if (!column.name.empty()) continue;
      const auto* term = plan::find_term(column.field);
      column.name = term && !term->alias.empty() ? std::string(term->alias) : column.field;
    }
    return out;
  }();
  return kColumns;
}

CellError read_cell(std::string_view cell, const PublishedColumn& column, Record& record) {
  Value value;
  if (auto flaw = read_value(cell, column, value); !flaw.none()) return flaw;
  if (column.put != nullptr)
    column.put(record, value);
  else
    record.set(column.field, std::move(value));
  return {};
}

Value value_of(const PublishedColumn& column, const Record& record) {
  if (column.get != nullptr) return column.get(record);
  const auto* held = record.field(column.field);
  return held != nullptr ? *held : Value();
}

std::string cell_text(const PublishedColumn& column, const Record& record) {
  const auto value = value_of(column, record);
  const auto* real = std::get_if<double>(&value);
  return real != nullptr ? fmt::format("{}", *real) : record::text(value);
}

// Removes the old speed and everything derived from it, before another speed is set.
static void forget_speed(record::Measurement& measured) {
  measured.step_seconds.reset();
  measured.step_seconds_from.clear();
  measured.window = {};
  measured.samples_per_second.reset();
  measured.tokens_per_second.reset();
  measured.days_per_100b_tokens.reset();
  measured.gpu_hours.reset();
}

Status set_cell(Record& record, std::string_view name, std::string_view value) {
  const auto* column = find_column(name);
  if (column == nullptr)
    return Error{"--set " + printable(name), "no such field", suggestion(name, names_to_set())};
  auto cell = std::string(trim(value));
  if (name == "params") cell = in_billions(std::move(cell));
  if (cell.empty()) return Error{"--set " + printable(name), "has no value", "write name=value"};
  for (const auto* speed : {"step_time_s", "samples_per_s", "days_per_100b_tokens"})
    if (column->name == std::string_view(speed)) forget_speed(record.measured);
  if (const auto flaw = read_cell(cell, *column, record); !flaw.none())
    return Error{"--set " + printable(name), flaw.fact, flaw.fix};
  std::erase_if(record.assumptions, [&](const std::string& assumed) {
    return assumed.substr(0, assumed.find(' ')) == column->name;
  });
  return {};
}

std::vector<std::pair<std::string, std::string>> cells_of(const Record& record) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& column : columns())
    if (auto text = cell_text(column, record); !text.empty())
      out.emplace_back(column.name, std::move(text));
  return out;
}

}  // namespace orch::published

#include "core/record/published/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/base/csv.h"
#include "core/base/date.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/published/columns.h"
#include "core/record/published/flops.h"
#include "core/record/published/framework.h"
#include "core/record/published/kind.h"
#include "core/plan/model.h"

namespace orch::published {
namespace {

// Columns whose cell is not the source's own word.
std::set<std::string> not_said(const Row& row) {
  std::set<std::string> out;
  for (const auto& name : split(row.inferred, ';')) out.insert(std::string(trim(name)));
  for (const auto& assumed : row.assumed) out.insert(assumed.substr(0, assumed.find(' ')));
  return out;
}

record::FieldValue value_of(const Column& column, const Row& row) {
  if (column.name == "params_b") return *row.params_b * 1e9;
  if (column.name == "act_ckpt") return recompute_of(row);
  if (const auto* text = std::get_if<TextCell>(&column.member)) return row.*(*text);
  if (const auto* flag = std::get_if<FlagCell>(&column.member)) return *(row.*(*flag));
  if (const auto* count = std::get_if<CountCell>(&column.member)) return *(row.*(*count));
  return *(row.*std::get<RealCell>(column.member));
}

// Micro-batches have three columns, by whose table it is.
std::optional<std::int64_t> accumulate_of(const Row& row) {
  if (row.gas) return row.gas;
  if (row.pp_chunks) return row.pp_chunks;
  if (row.grad_accum) return std::max<std::int64_t>(1, *row.grad_accum);
  return std::nullopt;
}

plan::Model model_of(const Row& row) {
  return shaped(row, {*row.layers, *row.hidden, row.heads.value_or(1), *row.vocab, row.seq.value_or(0)});
}

record::State state_of(const Row& row) {
  if (row.status == "ok") return record::State::finished;
  return row.status.empty() ? record::State::planned : record::State::failed;
}

record::Failure failure_of(const Row& row) {
  if (row.status == "oom") return record::Failure::gpu_memory;
  return row.status == "hang" ? record::Failure::hang : record::Failure::none;
}

std::optional<double> tokens_per_second(const Row& row) {
  if (row.days_per_100b_tokens) return 100e9 / (*row.days_per_100b_tokens * kDay);
  if (!row.seq) return std::nullopt;
  const auto seq = static_cast<double>(*row.seq);
  if (row.samples_per_s) return *row.samples_per_s * seq;
  if (row.step_time_s && row.gbs) return static_cast<double>(*row.gbs) * seq / *row.step_time_s;
  return std::nullopt;
}

// "7B" and "7e9" as the column params_b has it; what is neither is left for its reader to refuse.
std::string in_billions(std::string text) {
  double value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  if (code != std::errc()) return text;
  if (unit == "B" || unit == "b") return fmt::format("{}", value);
  if (unit == "M" || unit == "m") return fmt::format("{}", value / 1e3);
  return unit.empty() ? fmt::format("{}", value / 1e9) : text;
}

const Column* find_column(std::string_view name) {
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

}  // namespace

std::vector<record::Field> fields_of(const Row& row) {
  record::Record out;
  const auto assumed = not_said(row);
  const bool guessed = assumed.contains("framework");
  if (const auto strategy = strategy_of(row); !strategy.empty())
    out.set("strategy", strategy, guessed);
  for (const auto& column : columns())
    if (!column.field.empty() && !is_empty(column, row))
      out.set(column.field, value_of(column, row), assumed.contains(column.name));
  // By definition: DDP shards nothing.
  if (out.field_text("strategy") == "ddp" && !row.zero_stage)
    out.set("zero_stage", std::int64_t{0}, guessed);
  if (!row.params_b && row.layers && row.hidden && row.vocab)
    out.set("params", model_of(row).params(), true);
  if (const auto accumulate = accumulate_of(row))
    out.set("accumulate", *accumulate, row.gas && assumed.contains("gas"));
  return out.fields;
}

void add_measurement(const Row& row, record::Record& record) {
  auto& measured = record.measured;
  const auto single = [](double value) { return statistics::Interval{value, {}, {}, 1}; };
  if (row.step_time_s) measured.step_seconds = single(*row.step_time_s);
  if (!row.step_time_s && row.samples_per_s && row.gbs) {
    measured.step_seconds = single(static_cast<double>(*row.gbs) / *row.samples_per_s);
    measured.step_seconds_from =
        fmt::format("{} samples / {:g} samples per second", *row.gbs, *row.samples_per_s);
  }
  measured.tokens_per_second = tokens_per_second(row);
  if (measured.tokens_per_second)
    measured.days_per_100b_tokens = 100e9 / *measured.tokens_per_second / kDay;
  if (row.tflops_per_gpu)
    measured.tflops.push_back(
        {*row.tflops_per_gpu, row.tflops_formula.empty() ? "not said" : row.tflops_formula, false});
  if (row.mem_gb) {
    measured.peak_memory_bytes = *row.mem_gb * kGiB;
    measured.peak_memory_from = row.mem_of == "first" ? "of the first stage" : "as published";
  }
}

void add_tflops(const Row& row, record::Record& record) {
  const auto& step = record.measured.step_seconds;
  if (!step || !row.layers || !row.hidden || !row.vocab || !row.seq || !row.gbs || !row.gpus)
    return;
  auto& tflops = record.measured.tflops;
  for (const auto& held : tflops)
    if (held.convention.starts_with("megatron")) return;
  auto model = model_of(row);
  model.vocab = padded_vocab(model.vocab, row.tp.value_or(1));
  const auto flops =
      plan::megatron_flops(model, static_cast<double>(*row.gbs), recompute_of(row) == "full");
  tflops.push_back(
      {flops / (step->value * static_cast<double>(*row.gpus) * 1e12), "megatron", true});
}

record::Record record_of(const Row& row) {
  record::Record out;
  out.id = row.id;
  out.source = row.source;
  out.table = row.table;
  out.fields = fields_of(row);
  out.notes = row.notes;
  out.origin.kind = "table";
  out.origin.file = row.file;
  out.origin.date = row.date;
  out.origin.first_line = out.origin.last_line = static_cast<std::int64_t>(row.line);
  out.state = state_of(row);
  out.failure = failure_of(row);
  if (row.status == "oom") out.reason = "out of memory";
  if (row.status == "hang") out.reason = "hung";
  if (row.status == "failed") out.reason = "failed";
  add_measurement(row, out);
  for (const auto& flaw : row.flaws)
    out.doubts.push_back({"unreadable", flaw.place, flaw.fact + "; " + flaw.fix});
  return out;
}

// As far as it is known.
static bool is_date(const std::string& text) {
  const std::string_view rest = "2000-01-01";
  return (text.size() == 4 || text.size() == 7 || text.size() == rest.size()) &&
         parse_date(text + std::string(rest.substr(text.size())));
}

Status set_cell(Row& row, std::string_view name, std::string_view value) {
  const auto* column = find_column(name);
  if (column == nullptr)
    return Error{"--set " + printable(name), "no such field", suggestion(name, names_to_set())};
  auto cell = std::string(trim(value));
  if (name == "params") cell = in_billions(std::move(cell));
  if (cell.empty()) return Error{"--set " + printable(name), "has no value", "write name=value"};
  if (name == "date" && !is_date(cell))
    return Error{"--set date", "'" + printable(cell) + "' is no day",
                 "write YYYY, YYYY-MM or YYYY-MM-DD"};
  if (const auto flaw = read_cell(cell, *column, row); !flaw.none())
    return Error{"--set " + printable(name), flaw.fact, flaw.fix};
  std::erase_if(row.assumed, [&](const std::string& assumed) {
    return assumed.substr(0, assumed.find(' ')) == column->name;
  });
  return {};
}

std::vector<std::pair<std::string, std::string>> cells_of(const Row& row) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& column : columns())
    if (!is_empty(column, row)) out.emplace_back(column.name, cell_text(column, row));
  return out;
}

std::string rows_csv(const std::vector<Row>& rows) {
  std::vector<CsvCell> cells;
  for (const auto& column : columns()) cells.emplace_back(column.name);
  CsvWriter out;
  out.row(cells);
  for (const auto& row : rows) {
    cells.clear();
    for (const auto& column : columns()) cells.emplace_back(cell_text(column, row));
    out.row(cells);
  }
  return out.text();
}

}  // namespace orch::published

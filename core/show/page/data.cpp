#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/plan/vocabulary.h"
#include "core/record/record.h"
#include "core/record/thinned.h"
#include "core/show/page/parts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using Json = nlohmann::ordered_json;
using record::LossPoint;
using record::Record;
using record::StepPoint;

constexpr std::size_t kCurves = 8;    // more than eight lines nobody tells apart
constexpr std::size_t kPoints = 400;  // of each

bool has_course(const record::Measurement& measured) {
  return measured.losses.size() > 1 || measured.step_times.size() > 1 || measured.peaks.size() > 1;
}

std::int64_t last_step(const record::Measurement& measured) {
  auto out = measured.steps;
  if (!measured.losses.empty()) out = std::max(out, measured.losses.back().step);
  if (!measured.step_times.empty()) out = std::max(out, measured.step_times.back().step);
  return out;
}

std::string dumped(const Json& json) {
  return for_script(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

// Six digits are enough for a picture, and a third of the bytes.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 5);
  return unit < 1e-300 ? value : std::round(value / unit) * unit;
}

void put(Json& out, const char* key, const std::optional<Interval>& range) {
  if (!range) return;
  out[key] = {rounded(range->value)};
  if (range->has_limits()) {
    out[key].push_back(rounded(*range->low));
    out[key].push_back(rounded(*range->high));
  }
}

void put(Json& out, const char* measured, const char* estimated, const Both& both) {
  put(out, measured, both.measured);
  put(out, estimated, both.estimated);
}

void put(Json& out, const char* key, const std::string& text) {
  if (!text.empty()) out[key] = clean(text, kLongestName);
}

// Seconds by group; an unknown group is other.
void put(Json& out, const char* key, const std::vector<plan::Item>& items) {
  static const std::vector<std::string> kGroups{"compute", "bubble", "communication", "optimizer"};
  Json sums = Json::object();
  for (const auto& item : items) {
    if (!std::isfinite(item.amount) || item.amount <= 0) continue;
    const bool known = std::find(kGroups.begin(), kGroups.end(), item.kind) != kGroups.end();
    const auto group = known ? item.kind : "other";
    sums[group] = sums.value(group, 0.0) + item.amount;
  }
  if (!sums.empty()) out[key] = std::move(sums);
}

void put_points(Json& out, const char* key, const std::vector<record::StepPoint>& points) {
  Json list = Json::array();
  for (const auto& point : points)
    if (std::isfinite(point.value) && point.value > 0)
      list.push_back({point.step, rounded(point.value)});
  if (list.size() > 1) out[key] = std::move(list);
}

// How a run went, from step to step.
void put_course(Json& out, const record::Measurement& measured) {
  Json losses = Json::array();
  for (const auto& point : record::thinned(measured.losses, &LossPoint::loss, kPoints))
    if (std::isfinite(point.loss) && std::isfinite(point.tokens))
      losses.push_back({point.step, rounded(point.tokens), rounded(point.loss)});
  if (losses.size() > 1) out["losses"] = std::move(losses);
  put_points(out, "times", record::thinned(measured.step_times, &StepPoint::value, kPoints));
  put_points(out, "peaks", measured.peaks);
  out["steps"] = last_step(measured);
  if (!measured.resumes.empty()) out["resumes"] = measured.resumes;
}

// The longest ones.
std::vector<const Record*> courses_of(const std::vector<Line>& lines) {
  std::vector<const Record*> out;
  for (const auto& line : lines)
    if (has_course(line.record->measured)) out.push_back(line.record);
  std::stable_sort(out.begin(), out.end(), [](const Record* a, const Record* b) {
    return last_step(a->measured) > last_step(b->measured);
  });
  return out;
}

constexpr std::size_t kMostValues = 24;  // more are no sweep

// What a run is, what its model is, and what follows from the rest.
constexpr std::array<std::string_view, 14> kNone{
    "id",   "strategy", "framework", "nodes", "gpus_per_node", "accumulate",    "seed",
    "name", "job",      "label",     "lr",    "learning_rate", "data_parallel", "tokens"};

using SweepSeries = std::map<std::pair<std::string, std::string>, std::vector<const Line*>>;

SweepSeries series_of_sweep(const std::vector<Line>& lines) {
  SweepSeries out;
  for (const auto& line : lines)
    if (line.numbers.best_days())
      out[{strategy_of(*line.record), model_of(*line.record)}].push_back(&line);
  return out;
}

bool varies(const std::vector<const Line*>& some, const std::string& name) {
  std::set<std::string> values;
  for (const auto* line : some)
    if (const auto text = line->record->field_text(name); !text.empty()) values.insert(text);
  return values.size() > 1 && values.size() <= kMostValues;
}

// The parameters by which runs of one strategy and model differ, in the order of the vocabulary.
// What follows from others (the data-parallel ranks, the nodes) is none.
std::vector<std::string> swept(const std::vector<Line>& lines) {
  const auto series = series_of_sweep(lines);
  std::vector<std::string> names = record::field_names();
  for (const auto& line : lines)
    for (const auto& field : line.record->fields)
      if (std::find(names.begin(), names.end(), field.name) == names.end())
        names.push_back(field.name);
  std::erase_if(names, [&](const std::string& name) {
    return std::find(kNone.begin(), kNone.end(), name) != kNone.end() ||
           (plan::is_of_model(name) && name != "seq") ||
           std::none_of(series.begin(), series.end(),
                        [&](const auto& entry) { return varies(entry.second, name); });
  });
  return names;
}

// Where a run is in a sweep.
void put_place(Json& out, const Record& record, const std::vector<std::string>& names) {
  if (names.empty()) return;
  auto& at = out["at"] = Json::array();
  for (const auto& name : names) {
    const auto number = record.field_number(name);
    if (number && std::isfinite(*number))
      at.push_back(*number);
    else
      at.push_back(clean(record.field_text(name), kLongestName));
  }
}

Json run_json(const Line& line) {
  const auto& record = *line.record;
  const auto& numbers = line.numbers;
  Json out = Json::object();
  put(out, "id", run_name(record));
  put(out, "strategy", strategy_of(record));
  put(out, "variant", line.variant);
  put(out, "model", model_of(record));
  const auto gpus = record.field_number("gpus");
  if (gpus && std::isfinite(*gpus) && *gpus > 0) out["gpus"] = *gpus;
  out["state"] = record::name(record.state);
  if (!record.doubts.empty()) out["doubts"] = record.doubts.size();
  put(out, "out", not_counted(record));
  put(out, "nan", record::nan_text(record.measured));
  if (line.strong != 0) out["strong"] = line.strong;
  if (line.weak != 0) out["weak"] = line.weak;
  put(out, "step", "estimatedStep", numbers.step);
  put(out, "rate", "estimatedRate", numbers.rate);
  put(out, "days", "estimatedDays", numbers.days);
  put(out, "memory", "estimatedMemory", numbers.memory);
  if (numbers.memory_limit) out["limit"] = rounded(*numbers.memory_limit);
  put(out, "items", record.measured.time_items);
  if (record.estimated) put(out, "estimatedItems", record.estimated->time);
  return out;
}

}  // namespace

std::string chart_data(const std::vector<Line>& lines) {
  auto curves = courses_of(lines);
  const auto names = swept(lines);
  Json out{{"curves", curves.size()}, {"swept", Json::array()}, {"runs", Json::array()}};
  for (const auto& name : names) {
    const auto* term = plan::find_term(name);
    const auto title = clean(term != nullptr ? std::string(term->meaning) : name, kLongestName);
    out["swept"].push_back({clean(name, kLongestName), title});
  }
  curves.resize(std::min(curves.size(), kCurves));
  for (const auto& line : lines) {
    auto run = run_json(line);
    if (std::find(curves.begin(), curves.end(), line.record) != curves.end())
      put_course(run, line.record->measured);
    put_place(run, *line.record, names);
    out["runs"].push_back(std::move(run));
  }
  return dumped(out);
}

std::string chapter_data(const std::vector<Chapters>& chapters) {
  std::string out;  // many short texts: a document of them takes several times as long
  const auto put_text = [&](const std::string& text) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (std::all_of(text.begin(), text.end(), is_plain))
      ((out += '"') += text) += '"';
    else
      out += Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
  };
  const auto put_list = [&](const auto& items, const auto& put_item) {
    out += '[';
    for (const auto& item : items) {
      if (&item != &items.front()) out += ',';
      put_item(item);
    }
    out += ']';
  };
  put_list(chapters, [&](const Chapters& of_run) {
    put_list(of_run, [&](const Chapter& chapter) {
      out += '[';
      put_text(chapter.heading);
      out += ',';
      put_list(chapter.pairs, [&](const auto& pair) {
        put_list(std::array{clean(pair.first, kLongestName), clean(pair.second)}, put_text);
      });
      out += ']';
    });
  });
  return for_script(out);
}

}  // namespace orch::page

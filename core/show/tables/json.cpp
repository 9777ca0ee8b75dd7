#include "core/show/tables/json.h"

#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/model_json.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/show/tables/compared.h"
#include "core/show/tables/ranking.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

Json errors_json(const std::vector<Error>& errors) {
  Json list = Json::array();
  for (const auto& error : errors)
    list.push_back({{"place", error.place}, {"fact", error.fact}, {"fix", error.fix}});
  return list;
}

// A day, or null beyond the calendar.
Json day_json(const plan::Calendar& calendar, double days) {
  const auto day = calendar.date(days);
  return day ? Json(format_date(*day)) : Json();
}

Json schedule_json(const plan::Estimate& estimate, const plan::Calendar& calendar) {
  Json list = Json::array();
  const auto spans = calendar.spans(estimate.portions(estimate.days_to_train));
  for (const auto& s : estimate.schedule) {
    const auto& span = spans[list.size()];
    Json json{{"first_batch", s.first_batch},
              {"last_batch", s.last_batch},
              {"samples", s.samples},
              {"tokens", s.tokens},
              {"data_parallel", s.data_parallel},
              {"nodes", s.nodes},
              {"gpus", s.gpus},
              {"first_step_seconds", s.first_step_seconds},
              {"last_step_seconds", s.last_step_seconds},
              {"tflops_per_gpu", s.tflops_per_gpu},
              {"seconds", s.seconds},
              {"gpu_hours", s.gpu_hours}};
    if (calendar.start) json["from"] = day_json(calendar, span.from);
    if (calendar.start) json["to"] = day_json(calendar, span.to);
    list.push_back(std::move(json));
  }
  return list;
}

void add_dates(const plan::Estimate& e, const plan::Calendar& calendar, Json& json) {
  if (calendar.start) {
    const auto range = e.range_of(e.days_to_train);
    json["start"] = format_date(*calendar.start);
    const auto after = [&](double days) {
      return day_json(calendar, calendar.calendar_days(e.portions(days)));
    };
    json["ends"] = after(e.days_to_train);
    json["ends_low"] = after(range.low);
    json["ends_high"] = after(range.high);
  }
  json["schedule"] = schedule_json(e, calendar);
}

Json number(const record::Quantity& quantity, double value) {
  return is_in_bytes(quantity) ? Json(std::llround(value)) : Json(value);
}

void add_quantity(const record::Quantity& quantity, const plan::Planned& p, Json& json) {
  const auto value = record::estimated(quantity, p.estimate);
  json[std::string(quantity.name)] = value ? number(quantity, value->value) : Json();
  if (quantity.range.empty() || !value || !value->has_limits()) return;
  json[std::string(quantity.range) + "_low"] = number(quantity, *value->low);
  json[std::string(quantity.range) + "_high"] = number(quantity, *value->high);
}

Json items_json(const std::vector<plan::Item>& items, const char* unit) {
  Json list = Json::array();
  for (const auto& item : items)
    list.push_back(
        {{"name", item.name}, {"kind", item.kind}, {unit, item.amount}, {"formula", item.formula}});
  return list;
}

Json compared_json(const Compared& item) {
  Json json{{"name", item.name},
            {"measured", or_null(item.measured)},
            {"estimated", or_null(item.estimated)},
            {"error_percent", or_null(item.error())}};
  if (!item.parts.empty()) json["parts"] = item.parts;
  return json;
}

Json comparison_json(const Comparison& comparison) {
  return {{"items", mapped(comparison.items, compared_json)},
          {"sum", compared_json(comparison.sum)},
          {"total", compared_json(comparison.total)}};
}

}  // namespace

Json run_fields(const plan::Planned& p) {
  const auto& r = p.run;
  const auto& e = p.estimate;
  Json json;
  for (const auto& term : plan::vocabulary())
    if (term.read && term.name != "framework")
      if (const auto value = term.read(r); plan::is_given(value)) json[std::string(term.name)] = plan::json_of(value);
  json["params"] = std::llround(r.model.params());
  json["variant"] = plan::variant(r);
  for (std::size_t i = 0; i < r.settings.size(); ++i)
    if (const auto& name = r.strategy->params[i].name; !json.contains(name))
      json[name] = plan::json_of(r.settings[i]);
  json["fit"] = name(e.fit);
  json["tflops_convention"] = "megatron";
  for (const auto& quantity : record::quantities())
    if (quantity.estimated) add_quantity(quantity, p, json);
  if (!e.stack.empty()) json["priced_as"] = e.stack;
  if (!e.remarks.empty()) json["remarks"] = e.remarks;
  for (const auto& other : e.others)
    json["other_stacks"].push_back({{"stack", other.stack},
                                    {"measured", other.here ? "here" : "this size"},
                                    {"step_seconds", other.step_seconds}});
  if (!e.fit_reason.empty()) json["fit_reason"] = e.fit_reason;
  if (!r.warnings.empty()) json["warnings"] = errors_json(r.warnings);
  if (!r.framework.empty()) json["framework"] = r.framework;
  if (!r.unequal.empty()) json["unequal"] = errors_json(r.unequal);
  return json;
}

void add_limits(const plan::Planned& run, const plan::Experiment& experiment, Json& json) {
  if (plan::has_limits(experiment.budget) && run.estimate.fit != plan::Fit::oom)
    json["budget"] = name(standing(run, experiment));
  add_dates(run.estimate, experiment.calendar, json);
}

// Texts of users may hold anything; what is not UTF-8 is replaced, never thrown at them.
static std::string indented(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string dump(const Json& json) { return indented(json) + "\n"; }

namespace {

// An object that is printed while it is made, as dump() would print it: lists of it may be longer
// than there is memory for.
class Document {
 public:
  explicit Document(const Print& print) : print_(print) {}

  void add(const char* name, const Json& value) {
    begin(name);
    put(value, 2);
  }
  void add_list(const char* name, std::size_t count,
                const std::function<Json(std::size_t)>& item) {
    begin(name);
    text_ += "[";
    for (std::size_t i = 0; i < count; ++i) {
      text_ += i == 0 ? "\n    " : ",\n    ";
      put(item(i), 4);
      if (text_.size() >= kBlock) print_(std::exchange(text_, {}));
    }
    text_ += count == 0 ? "]" : "\n  ]";
  }
  void end() { print_(text_ + "\n}\n"); }

 private:
  static constexpr std::size_t kBlock = 64 << 10;

  void begin(const char* name) {
    text_ += first_ ? "{\n  " : ",\n  ";
    first_ = false;
    text_ += Json(name).dump() + ": ";
  }
  // Indents every line by so many columns; strings contain no raw line breaks.
  void put(const Json& value, std::size_t columns) {
    for (const char c : indented(value)) {
      text_ += c;
      if (c == '\n') text_.append(columns, ' ');
    }
  }

  const Print& print_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

void print_json(const RankedRuns& result, const Standings* standings, const Print& print) {
  std::map<std::string, const RunStatus*> ran;
  if (standings)
    for (const auto& run : standings->runs) ran[run.record.id] = &run;
  const auto places = ranks(result);
  const auto found = answer(result);
  Document document(print);
  document.add("version", 1);
  document.add("experiment", result.experiment->name);
  document.add("answer", {{"best", found.best}, {"sure", found.sure}, {"nearby", found.nearby}});
  document.add_list("runs", result.runs.size(), [&](std::size_t i) {
    auto run = run_fields(*result.runs[i]);
    run["rank"] = places[i].place > 0 ? Json(places[i].place) : Json();
    run["tie"] = places[i].tie;
    add_limits(*result.runs[i], *result.experiment, run);
    if (const auto status = ran.find(result.runs[i]->run.id); status != ran.end())
      add_status(*status->second, run);
    return run;
  });
  document.add_list("rejected", result.rejected->size(), [&](std::size_t i) {
    const auto& run = (*result.rejected)[i];
    return Json{{"id", run.label}, {"reasons", errors_json(run.reasons)}};
  });
  document.end();
}

std::string explain_json(const plan::Planned& run, const plan::Calendar& calendar,
                         const record::Measurement* measured) {
  Json json = run_fields(run);
  add_dates(run.estimate, calendar, json);
  json["time"] = items_json(run.estimate.time, "seconds");
  Json stages = Json::array();
  for (const auto& stage : run.estimate.memory)
    stages.push_back({{"first_stage", stage.first_stage},
                      {"last_stage", stage.last_stage},
                      {"bytes", stage.total},
                      {"items", items_json(stage.items, "bytes")},
                      {"host", items_json(stage.host, "bytes")}});
  json["memory"] = std::move(stages);
  if (measured)
    json["measured"] = {{"time", comparison_json(compare_time(run.estimate, *measured))},
                        {"memory", comparison_json(compare_memory(run.estimate, *measured))},
                        {"host_memory", comparison_json(compare_host_memory(run.estimate, *measured))}};
  return dump({{"version", 1}, {"run", std::move(json)}});
}

}  // namespace orch::tables

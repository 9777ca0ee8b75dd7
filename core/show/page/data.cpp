#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/show/page/parts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using Json = nlohmann::ordered_json;
using show::Chart;

// Six digits are enough to draw a chart and take a third of the bytes.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 5);
  return unit < 1e-300 ? value : std::round(value / unit) * unit;
}

// Empty and false values are left out.
void put(Json& out, const char* key, const std::string& text) {
  if (!text.empty()) out[key] = clean(text);
}
void put(Json& out, const char* key, bool flag) {
  if (flag) out[key] = 1;
}
void put(Json& out, const char* key, const std::optional<double>& value) {
  if (value) out[key] = rounded(*value);
}
void put(Json& out, const char* key, const std::optional<std::size_t>& value) {
  if (value) out[key] = *value;
}
void put(Json& out, const char* key, const std::vector<Chart::Place>& places) {
  if (places.empty()) return;
  auto& list = out[key] = Json::array();
  for (const auto& [x, y] : places) list.push_back({rounded(x), rounded(y)});
}

Json json(const Chart::Axis& axis) {
  Json out{{"low", axis.low}, {"high", axis.high}, {"ticks", Json::array()}};
  put(out, "title", axis.title);
  put(out, "log", axis.is_log);
  for (const auto& [value, text] : axis.ticks) out["ticks"].push_back({value, clean(text, 60)});
  return out;
}

Json json(const Chart::Rule& rule) {
  Json out{{"kind", rule.kind}, {"look", rule.look}};
  put(out, "line", rule.line);
  put(out, "hollow", rule.is_hollow);
  put(out, "tooltip", rule.tooltip);
  return out;
}

Json json(const Chart::Mark& mark) {
  Json out{{"x", rounded(mark.x)}, {"y", rounded(mark.y)}, {"look", mark.look}};
  put(out, "low", mark.low);
  put(out, "high", mark.high);
  put(out, "run", mark.run);
  put(out, "hollow", mark.is_hollow);
  put(out, "doubtful", mark.is_doubtful);
  put(out, "faint", mark.is_faint);
  put(out, "tooltip", mark.tooltip);
  put(out, "words", mark.words);
  put(out, "shade", mark.shade);
  put(out, "best", mark.is_best);
  put(out, "bold", mark.is_bold);
  put(out, "line", mark.line);
  put(out, "resumes", mark.resumes);
  return out;
}

Json json(const Chart::Row& row) {
  Json out = Json::object();
  put(out, "label", row.label);
  put(out, "kind", row.kind);
  put(out, "end", row.end);
  return out;
}

Json json(const std::string& text) { return clean(text, kLongestName); }

Json json(const Chart::Panel& panel);
Json json(const Chart::Sample& sample);
Json json(const Chart& chart);

template <class Item>
Json list_json(const std::vector<Item>& items) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(json(item));
  return out;
}

Json json(const Chart::Panel& panel) {
  Json out{{"x", json(panel.x)},
           {"y", json(panel.y)},
           {"rows", list_json(panel.rows)},
           {"rules", list_json(panel.rules)},
           {"marks", list_json(panel.marks)}};
  put(out, "title", panel.title);
  put(out, "square", panel.is_square);
  return out;
}

Json json(const Chart::Sample& sample) {
  Json out{{"kind", sample.kind}, {"look", sample.look}, {"words", clean(sample.words)}};
  put(out, "below", sample.below);
  return out;
}

Json json(const Chart& chart) {
  static constexpr std::array kKinds{"points", "bars", "lines", "grid"};
  Json out{{"kind", kKinds[static_cast<std::size_t>(chart.kind)]},
           {"name", chart.name},
           {"title", chart.title},
           {"finding", clean(chart.finding)},
           {"panels", list_json(chart.panels)},
           {"legend", list_json(chart.legend)}};
  put(out, "note", chart.note);
  if (chart.others.empty() && chart.answers.empty()) return out;
  out["data"] = Json::array();  // the HTML already has the tables of other charts
  for (const auto& row : chart.data) out["data"].push_back(list_json(row));
  out["questions"] = list_json(chart.questions);
  out["answers"] = list_json(chart.answers);
  out["others"] = list_json(chart.others);
  return out;
}

}  // namespace

std::string chart_data(const std::vector<Chart>& charts) {
  return for_script(list_json(charts).dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::string chapter_data(const std::vector<Chapters>& chapters) {
  std::string out;  // built by hand: a Json document of many short strings is far slower
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

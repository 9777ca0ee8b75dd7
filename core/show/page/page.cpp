#include "core/show/page/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/show/page/assets.h"
#include "core/show/page/charts.h"
#include "core/show/page/parts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// Converts hexadecimal digits to base64, as a Content-Security-Policy requires for hashes.
std::string base64(std::string_view hex) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0;
  int held = 0;
  for (const char c : hex) {
    bits = bits << 4 | static_cast<unsigned>(digit(c));
    for (held += 4; held >= 6;) out += kLetters[bits >> (held -= 6) & 63];
  }
  if (held > 0) out += kLetters[bits << (6 - held) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

// The policy allows only the scripts and the style of the page, and no network requests.
std::string policy() {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}' 'sha256-{}'; style-src 'sha256-{}'; "
      "img-src data:; base-uri 'none'; form-action 'none'",
      base64(assets::kStartHash), base64(assets::kScriptHash), base64(assets::kStyleHash));
}

std::string head(const Page& page) {
  return fmt::format(
      R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="orch">
{}<title>{}</title>
<script>{}</script>
<style>{}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
)",
      policy(),
      page.refresh_seconds > 0
          ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", page.refresh_seconds)
          : "",
      page.title.empty() ? "Report" : escape(page.title, kLongestName), assets::kStart,
      assets::kStyle);
}

struct PagePart {
  std::string id, name, html;
};

// The data of a chart as a table, without empty columns.
std::string data_table(const show::Chart& chart, bool is_open) {
  const auto& head = chart.data.at(0);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < head.size(); ++i)
    if (std::any_of(chart.data.begin() + 1, chart.data.end(),
                    [&](const auto& row) { return !row[i].empty(); }))
      columns.push_back(i);
  std::string out;
  for (const auto& row : chart.data) {
    const bool is_head = &row == &head;
    out += is_head ? "<thead><tr>" : "<tr>";
    for (const auto i : columns) {
      const bool is_number = !is_head && !row[i].empty() &&
                             row[i].find_first_not_of("+-0123456789.,–% ") == row[i].npos;
      out += fmt::format("<{0}{1}>{2}</{3}>",
                         is_head  ? "th scope=\"col\""
                         : i == 0 ? "th scope=\"row\""
                                  : "td",
                         is_number ? " class=\"number\"" : "", escape(row[i], kLongestName),
                         is_head || i == 0 ? "th" : "td");
    }
    out += is_head ? "</tr></thead>\n<tbody>\n" : "</tr>\n";
  }
  return fmt::format(
      "<details class=\"data\"{0}><summary>Data of this chart</summary><div class=\"box\" "
      "tabindex=\"0\" role=\"region\" aria-label=\"{1}: data\"><table>{2}</tbody></table></div>"
      "</details>",
      is_open ? " open" : "", escape(chart.title), out);
}

// The section of a chart with its finding in words; the script draws the picture.
PagePart chart_part(const show::Chart& chart, const char* kind) {
  return {chart.name, chart.title,
          fmt::format("<section id=\"{0}\" class=\"{3}\"><h2>{1}</h2>\n<figure "
                      "data-chart=\"{0}\"><figcaption><p class=\"finding\">{2}</p></figcaption>"
                      "{4}</figure></section>\n",
                      chart.name, escape(chart.title), escape(chart.finding), kind,
                      data_table(chart, chart.name == "best"))};
}

std::vector<PagePart> parts_of(const Page& page, const std::vector<PageLine>& all,
                               const std::vector<PageLine>& lines,
                               const std::vector<Chapters>& chapters,
                               const std::vector<show::Chart>& charts) {
  std::vector<PagePart> out;
  if (!charts.empty())
    out.push_back(
        {"charts", "",
         "<noscript id=\"charts\"><p>Charts are drawn by a script; their numbers are below "
         "each.</p></noscript>\n"});
  for (const auto& chart : charts)
    if (chart.name != "best") out.push_back(chart_part(chart, "chart"));
  out.push_back({"runs", "Runs", table(lines, chapters, all.size() - lines.size())});
  out.push_back({"rejected", "Rejected runs", rejected(page.rejected)});
  out.push_back({"budget", "Budget", budget(page.budget)});
  out.push_back({"provenance", "Provenance", provenance(page)});
  return out;
}

std::string contents(const Page& page, const std::vector<PagePart>& parts) {
  std::string out;
  const auto link = [&](const std::string& id, const std::string& name) {
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>", id, name);
  };
  for (std::size_t i = 0; page.answers.size() > 1 && i < page.answers.size(); ++i)
    link(answer_id(i), escape(page.answers[i].name, kLongestName));
  for (const auto& part : parts)
    if (!part.name.empty() && !part.html.empty()) link(part.id, part.name);
  return out.empty() ? "" : "<nav aria-label=\"Contents\"><ul>" + out + "</ul></nav>\n";
}

std::string data(const char* id, const std::string& json) {
  return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, json);
}

std::string scripts(const std::vector<show::Chart>& charts, const std::vector<Chapters>& chapters) {
  return data("chart-data", chart_data(charts)) + data("chapter-data", chapter_data(chapters)) +
         fmt::format("<script type=\"module\">{}</script>\n", assets::kScript);
}

}  // namespace

std::string html(const Page& page) {
  const auto all = lines_of(page.records);
  const auto lines = lines_on_page(all);
  const auto chapters = mapped(lines, chapters_of);
  const auto charts = charts_of(lines);
  const bool has_best = !charts.empty() && charts[0].name == "best";
  const auto lead = has_best ? chart_part(charts[0], "lead").html : "";
  const auto parts = parts_of(page, all, lines, chapters, charts);
  auto out =
      head(page) + headline(page, all, lead) + contents(page, parts) + "<main id=\"main\">\n";
  for (const auto& part : parts) out += part.html;
  out += "</main>\n";
  if (!page.created.empty())
    out += fmt::format("<footer>Made by orch, {}.</footer>\n", escape(page.created, kLongestName));
  return out + scripts(charts, chapters) + "</body>\n</html>\n";
}

}  // namespace orch::page

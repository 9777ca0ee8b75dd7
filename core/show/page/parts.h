#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/show/chart.h"
#include "core/show/page/columns.h"
#include "core/show/page/page.h"

namespace orch::page {

// Each function returns one part of the page as HTML, empty if the part has no data.

// The id of the HTML element that holds the answer of an experiment.
std::string answer_id(std::size_t answer);
// lead: HTML that is placed beside the answer.
std::string headline(const Page& page, const std::vector<PageLine>& lines, const std::string& lead);
std::string rejected(const std::vector<plan::RejectedRun>& runs);
std::string budget(const PageBudget& budget);
std::string provenance(const Page& page);
std::string attachments(const std::vector<Attachment>& files);

// Names and values, shown as <dl>.
using Pairs = std::vector<std::pair<std::string, std::string>>;
std::string list_of(const Pairs& pairs);

// Everything that is known of a run, under a few headings. The strings are not escaped yet.
struct Chapter {
  std::string heading;
  Pairs pairs;
};
using Chapters = std::vector<Chapter>;
Chapters chapters_of(const PageLine& line);

// The table of runs. chapters: one entry per line; left_out: number of runs that are not shown.
std::string table(const std::vector<PageLine>& lines, const std::vector<Chapters>& chapters,
                  std::size_t left_out);
// The chapters of each run, for browsers without scripts.
std::string in_full(const std::vector<PageLine>& lines, const std::vector<Chapters>& chapters);

// The JSON that the script reads: the charts and the chapters.
std::string chart_data(const std::vector<show::Chart>& charts);
std::string chapter_data(const std::vector<Chapters>& chapters);

}  // namespace orch::page

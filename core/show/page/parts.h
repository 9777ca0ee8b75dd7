#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/show/chart.h"
#include "core/show/page/columns.h"
#include "core/show/page/page.h"

namespace orch::page {

// The parts of the page as HTML; a part without data is empty.

// Where the answer of an experiment stands.
std::string answer_id(std::size_t answer);
// lead: what stands beside the answer.
std::string headline(const Page& page, const std::vector<PageLine>& lines, const std::string& lead);
std::string rejected(const std::vector<plan::RejectedRun>& runs);
std::string budget(const PageBudget& budget);
std::string provenance(const Page& page);
std::string attachments(const std::vector<Attachment>& files);

// Names and values, as <dl>.
using Pairs = std::vector<std::pair<std::string, std::string>>;
std::string list_of(const Pairs& pairs);

// Everything that is known of a run, under a few headings. Texts as they are: not escaped.
struct Chapter {
  std::string heading;
  Pairs pairs;
};
using Chapters = std::vector<Chapter>;
Chapters chapters_of(const PageLine& line);

// left_out: how many more there are than these lines, whose chapters these are.
std::string table(const std::vector<PageLine>& lines, const std::vector<Chapters>& chapters,
                  std::size_t left_out);
// All of each run, for who has no scripts.
std::string in_full(const std::vector<PageLine>& lines, const std::vector<Chapters>& chapters);

// What the script reads, as JSON: the charts, and the chapters.
std::string chart_data(const std::vector<show::Chart>& charts);
std::string chapter_data(const std::vector<Chapters>& chapters);

}  // namespace orch::page

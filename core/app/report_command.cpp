#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <set>
#include <thread>

#include "core/app/gather.h"
#include "core/app/provenance.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/records_json.h"
#include "core/run/launch/process_shell.h"
#include "core/show/page/page.h"
#include "core/show/tables/records.h"
#include "core/show/tables/report.h"

namespace orch::app {
namespace {

std::string name_of(const std::string& word) {
  const auto stem = fs::path(word).stem().string();
  return stem.empty() || stem == "-" ? "report" : stem;
}

std::string title_of(const Gatherer& gatherer, const std::vector<std::string>& words) {
  if (words.size() == 1 && gatherer.experiments().size() == 1)
    return gatherer.experiments().front().experiment.name;
  constexpr std::size_t kNamed = 3;  // more are counted: a title is one line
  const auto names = mapped(words, [](const auto& word) { return name_of(word); });
  if (names.size() <= kNamed) return join(names, ", ");
  return fmt::format("{} and {} more", names.front(), names.size() - 1);
}

void add_outcome(const PlannedExperiment& outcome, page::Page& page) {
  if (page.doc.empty()) page.doc = outcome.experiment.doc;
  page.rejected.insert(page.rejected.end(), outcome.rejected.begin(), outcome.rejected.end());
  const auto result = view(outcome);
  auto answer = tables::answer(result);
  page.answers.push_back({outcome.experiment.name, std::move(answer.best), std::move(answer.sure)});
  if (!plan::has_limits(outcome.experiment.budget)) return;
  page.budget.limits = tables::limits_text(outcome.experiment.budget);
  page.budget.verdict = tables::budget_verdict(result).text;
  page.budget.gpu_hours = outcome.experiment.budget.gpu_hours;
}

// Pages are given to others, for whom folders of this machine are meaningless: files below the
// current folder get a relative path, others only their name.
std::string here(const std::string& file) {
  if (file.empty() || !fs::path(file).is_absolute()) return file;
  std::error_code code;
  const auto near = fs::path(file).lexically_relative(fs::current_path(code));
  return near.empty() || *near.begin() == ".." ? fs::path(file).filename().string() : near.string();
}

void name_files_from_here(page::Page& page) {
  for (auto& record : page.records)
    for (auto* file :
         {&record.origin.file, &record.origin.experiment_file, &record.origin.cluster_file})
      *file = here(*file);
}

// Adds the hours used, and the estimated hours of runs queued or running.
void add_used(page::Page& page) {
  for (const auto& record : page.records) {
    page.budget.used_gpu_hours += record.measured.gpu_hours.value_or(0);
    const bool open =
        record.state == record::RunState::pending || record.state == record::RunState::running;
    if (open && record.estimated && record.origin.kind == "run")
      page.budget.committed_gpu_hours += record.estimated->gpu_hours;
  }
}

void attach(const std::string& file, page::Page& page) {
  constexpr std::size_t kLargest = 256 << 10;
  const auto text = read_file(file);
  if (text && text->size() <= kLargest) page.attachments.push_back({here(file), *text});
}

void add_provenance(const Gatherer& gatherer, bool with_texts, page::Page& page) {
  launch::ProcessShell shell;
  std::set<std::string> clusters;
  for (const auto& outcome : gatherer.experiments()) {
    const auto& file = outcome.experiment.file;
    const auto origin = provenance_of(shell, outcome.experiment);
    page.provenance.emplace_back("experiment file", here(file));
    for (const auto& text : outcome.experiment.set) page.provenance.emplace_back("set", text);
    for (const auto& other : outcome.experiment.includes) {
      page.provenance.emplace_back("included file", here(other));
      if (with_texts) attach(other, page);
    }
    if (!origin.commit.empty())
      page.provenance.emplace_back("commit", origin.commit + (origin.changed ? " (changed)" : ""));
    if (with_texts) attach(file, page);
    for (const auto& run : outcome.runs) clusters.insert(run.run.cluster->file);
  }
  for (const auto& record : page.records)
    if (!record.origin.cluster_file.empty()) clusters.insert(record.origin.cluster_file);
  for (const auto& file : clusters) {
    page.provenance.emplace_back("cluster file", here(file));
    if (with_texts) attach(file, page);
  }
  page.provenance.emplace_back("orch", ORCH_VERSION);
}

// The command that makes the page again.
std::string command_of(const RecordArguments& arguments) {
  std::vector<std::string> words{"orch", "report"};
  words.insert(words.end(), arguments.words.begin(), arguments.words.end());
  if (arguments.runs != "runs") words.insert(words.end(), {"--runs", arguments.runs});
  if (!arguments.cluster.empty()) words.insert(words.end(), {"--cluster", arguments.cluster});
  for (const auto& set : arguments.set) words.insert(words.end(), {"--set", set});
  for (const auto& file : arguments.patterns) words.insert(words.end(), {"--patterns", file});
  for (auto& word : words) word = shell_quote(here(word));
  return join(words, " ");
}

page::Page page_of(const Gatherer& gatherer, RecordList records, const ReportArguments& arguments) {
  const auto& words = arguments.records.words;
  page::Page page;
  page.title = title_of(gatherer, words);
  page.created = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
  page.command = command_of(arguments.records);
  page.records = std::move(records);
  for (const auto& outcome : gatherer.experiments()) add_outcome(outcome, page);
  add_used(page);
  add_provenance(gatherer, arguments.attach, page);
  name_files_from_here(page);
  if (arguments.watch) page.refresh_seconds = *arguments.watch;
  return page;
}

// Opens the page with the desktop's program; a failure is only reported.
void open_page(const std::string& file, Console& console) {
  launch::ProcessShell shell;
  const auto path = fs::absolute(file).string();
  const auto output = shell.run({.argv = {"xdg-open", path}, .timeout_seconds = 20});
  if (!output || output->code != 0)
    console.note(fmt::format("could not open it here (xdg-open): open file://{} in a browser\n",
                             printable(path)));
}

// A report may replace another report, but no other file.
bool is_ours(const std::string& file) {
  std::error_code code;
  if (!fs::exists(file, code)) return true;
  std::ifstream in(file);
  std::string head(2048, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find("name=\"generator\" content=\"orch\"") != std::string::npos;
}

// A published table is shown completely; of an experiment's runs, the best.
std::size_t rows_shown(const page::Page& page, const ReportArguments& arguments) {
  constexpr std::size_t kUsual = 20;
  if (arguments.top) return *arguments.top;
  const bool table = std::any_of(page.records.begin(), page.records.end(),
                                 [](const auto& record) { return record.origin.kind == "table"; });
  return table ? 0 : kUsual;
}

std::string page_file(const ReportArguments& arguments) {
  const auto& records = arguments.records;
  return records.output.empty() ? name_of(records.words.front()) + ".html" : records.output;
}

Ending write_page(const page::Page& page, const ReportArguments& arguments, Console& console) {
  const auto& records = arguments.records;
  if (records.output == "-") return put_out(page::html(page), "-", {}, console);
  const auto file = page_file(arguments);
  if (records.output.empty() && !is_ours(file))
    return {Error{printable(file), "exists and was not written by orch report",
                  "give another file with -o"},
            Exit::usage};
  if (auto status = check_output(file, records.words); !status)
    return {status.error(), Exit::usage};
  if (auto status = write_output(file, page::html(page)); !status) return status.error();
  console.print(show::text(tables::records_answer(page.records, rows_shown(page, arguments)),
                           records.common.screen));
  if (const auto count = page.records.size(); count > page::kMostRuns)
    console.note(fmt::format(
        "the page has {} of {} runs: those that ran, and the best of each strategy and size; "
        "--format csv lists all\n",
        group_digits(page::kMostRuns), group_digits(static_cast<double>(count))));
  console.note("report: " + printable(file) + "\n");
  if (arguments.open) open_page(file, console);
  return Exit::ok;
}

Ending show(const page::Page& page, const ReportArguments& arguments, Console& console) {
  const auto& format = arguments.records.common.format;
  const auto& file = arguments.records.output;
  const auto& words = arguments.records.words;
  if (format == "json") return put_out(record::records_json(page.records), file, words, console);
  if (format == "csv" || format == "md")
    return put_out(tables::records_answer(page.records), arguments.records.common, file, words,
                   console);
  if (format == "svg") return put_out(page::svg(page), file, words, console);
  return write_page(page, arguments, console);
}

// Unknown for logs: many have no end.
bool goes_on(const page::Page& page) {
  return std::any_of(page.records.begin(), page.records.end(), [](const auto& record) {
    return record.origin.kind == "run" &&
           (record.state == record::RunState::running || record.state == record::RunState::pending);
  });
}

Result<page::Page> make_page(App& app, const ReportArguments& arguments, Console& console) {
  Gatherer gatherer(app, arguments.records);
  auto records = gatherer.find_all(arguments.records.words, console);
  if (!records) return records.error();
  auto page = page_of(gatherer, std::move(*records), arguments);
  if (page.records.empty() && page.rejected.empty())
    return Error{"orch report", "nothing to show", "orch status lists runs"};
  return page;
}

// Rewrites the page repeatedly until nothing is running; the last version stays.
Ending watch(App& app, page::Page page, const ReportArguments& arguments, Console& console) {
  constexpr auto kLook = std::chrono::milliseconds(100);
  while (goes_on(page) && !interrupted()) {
    const auto next = std::chrono::steady_clock::now() + std::chrono::seconds(*arguments.watch);
    while (std::chrono::steady_clock::now() < next && !interrupted())
      std::this_thread::sleep_for(kLook);
    if (!interrupted()) {
      auto newer = make_page(app, arguments, console);
      if (!newer && !interrupted()) return newer.error();
      if (newer) page = std::move(*newer);
    }
    if (!goes_on(page) || interrupted()) page.refresh_seconds = 0;
    if (auto status = write_output(page_file(arguments), page::html(page)); !status)
      return status.error();
  }
  return interrupted() ? Exit::interrupted : Exit::ok;
}

}  // namespace

Ending report_command(App& app, const ReportArguments& arguments, Console& console) {
  const auto& records = arguments.records;
  if (arguments.watch && (records.common.format != "html" || records.output == "-"))
    return {Error{"--watch", "keeps a page in a file up to date", "leave --format and -o - out"},
            Exit::usage};
  auto page = make_page(app, arguments, console);
  if (interrupted()) return Exit::interrupted;
  if (!page) return page.error();
  if (arguments.watch && !goes_on(*page)) page->refresh_seconds = 0;
  auto shown = show(*page, arguments, console);
  return arguments.watch && shown.ok() ? watch(app, std::move(*page), arguments, console) : shown;
}

}  // namespace orch::app

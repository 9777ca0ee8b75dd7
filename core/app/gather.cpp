#include "core/app/gather.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/app/rows.h"
#include "core/app/run_logs.h"
#include "core/show/compare/spikes.h"
#include "core/record/published/columns.h"
#include "core/record/planned.h"
#include "core/record/records_json.h"
#include "core/run/store/run_folder.h"
#include "core/run/store/store.h"

namespace orch::app {
namespace {

using record::Record;
using Records = std::vector<Record>;

bool is_folder(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

// Whether the name of a file and its beginning agree: people name logs as they like. One that is
// missing is what its name says.
bool looks_like(const fs::path& path, const char* part) {
  std::ifstream in(path);
  if (!in) return true;
  std::string head(8192, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find(part) != std::string::npos;
}

void append(Records& to, Records&& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// A line for people who wait for a large file.
void show_progress(const ingest::BytesRead& progress) {
  constexpr std::uint64_t kLarge = 256 << 20;
  if (progress.of < kLarge || isatty(2) == 0) return;
  if (progress.bytes >= progress.of)
    std::fputs("\r\033[K", stderr);
  else
    std::fprintf(stderr, "\r%s: %.1f of %.1f GB", printable(progress.file).c_str(),
                 static_cast<double>(progress.bytes) / 1e9, static_cast<double>(progress.of) / 1e9);
}

// A log that just ends is of a run that goes on only if it grew lately.
void settle(Record& record) {
  constexpr double kLeast = 600, kSteps = 20;
  constexpr double kZones = 26 * 3600;  // the dates of a log are of any time zone
  if (record.state != record::State::running) return;
  std::error_code code;
  const auto written = fs::last_write_time(record.origin.file, code);
  const std::chrono::duration<double> age = fs::file_time_type::clock::now() - written;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  const auto& step = record.measured.step_seconds;
  const double most = std::max(kLeast, step ? kSteps * step->value : 0);
  const auto last = std::max(record.origin.start, record.origin.end);
  // A copy of an old log is a new file.
  const bool is_old = last > 0 && now.count() - last > most + kZones;
  if (code || age.count() > most || is_old) record.state = record::State::stopped;
  if (last > 0 || code) return;
  record.reason += fmt::format("; {} by the file's age alone ({}): its lines have no dates",
                               record::name(record.state), format_seconds(std::max(0.0, age.count())));
}

Error nothing_named(const std::string& word) {
  return {printable(word), "is no file, experiment, run, row or source that is known here",
          "orch status lists runs, ls experiments/measured the published sources"};
}

}  // namespace

Gatherer::Gatherer(App& app, const RecordArguments& arguments) : app_(app), arguments_(arguments) {
  const auto& words = arguments.words;
  const bool experiments =
      !words.empty() && std::all_of(words.begin(), words.end(),
                                    [](const auto& word) { return word.ends_with(".lua"); });
  for (const auto& text : arguments.set) {
    const auto path = text.substr(0, text.find('='));
    const bool is_change = experiments || path.find('.') != std::string::npos;
    (is_change ? changes_ : set_).push_back(text);
  }
}

bool Gatherer::is_place(const std::string& word) const {
  if (word == "-" || is_there(word) || is_there(app_.places().measured() / (word + ".csv")))
    return true;
  const auto experiments = store::experiments(arguments_.runs);
  return std::find(experiments.begin(), experiments.end(), word) != experiments.end() ||
         store::Store(arguments_.runs).find(word).has_value();
}

Result<Records> Gatherer::find(const std::string& word) {
  const fs::path path = word;
  if (word.ends_with(".lua") && looks_like(path, "experiment")) return experiment(word);
  if (word.ends_with(".csv") && looks_like(path, "gpus")) return table(path);
  if (word.ends_with(".json") && looks_like(path, "\"records\"")) {
    const auto text = read_file(path);
    if (!text) return text.error();
    return record::parse_records_json(*text, printable(word));
  }
  if (is_there(path / "run.json")) return run_folder(path);
  if (is_folder(path) && !store::experiments(path).empty()) return every_run(path);
  if (const auto name = path.filename().string(); is_folder(path) && !store::run_ids(path).empty())
    return run_records(app_, fs::absolute(path).lexically_normal().parent_path(), name, {},
                       troubles_);
  if (is_there(path) || word == "-") return logs({word});
  if (const auto file = app_.places().measured() / (word + ".csv"); is_there(file))
    return table(file);
  const auto experiments = store::experiments(arguments_.runs);
  if (std::find(experiments.begin(), experiments.end(), word) != experiments.end())
    return run_records(app_, arguments_.runs, word, {}, troubles_);
  if (const auto folder = store::Store(arguments_.runs).find(word)) return run_folder(*folder);
  return row(word);
}

Result<Records> Gatherer::experiment(const std::string& file) {
  auto outcome = app_.plan({file, changes_}, {.start = {}, .runs = arguments_.runs});
  if (!outcome) return outcome.error();
  Records out;
  std::vector<std::string> ids;
  const auto name = outcome->experiment.name;
  const auto there = store::run_ids(fs::path(arguments_.runs) / name);
  for (auto& planned : outcome->runs) {
    if (interrupted()) return Error{file, "interrupted", ""};
    ids.push_back(planned.run.id);
    auto explained = app_.explain(planned.run);
    out.push_back(record::planned_record(explained ? *explained : planned, file));
  }
  experiments_.push_back(std::move(*outcome));
  if (there.empty()) return out;
  auto done = run_records(app_, arguments_.runs, name, ids, troubles_);
  if (!done) return done.error();
  for (auto& record : *done)
    for (auto& planned : out)
      if (planned.id == record.id) planned = std::move(record);
  return out;
}

Result<Records> Gatherer::run_folder(const fs::path& folder) {
  const auto whole = fs::weakly_canonical(folder);
  const auto experiment = whole.parent_path();
  return run_records(app_, experiment.parent_path(), experiment.filename().string(),
                     {whole.filename().string()}, troubles_);
}

Result<Records> Gatherer::every_run(const fs::path& root) {
  Records out;
  for (const auto& name : store::experiments(root)) {
    auto found = run_records(app_, root, name, {}, troubles_);
    if (!found) return found.error();
    append(out, std::move(*found));
  }
  return out;
}

Status Gatherer::set_cells(Record& record) const {
  Errors errors;
  for (const auto& word : set_) {
    const auto equals = word.find('=');
    const auto status =
        equals == std::string::npos
            ? Status(Error{"--set " + printable(word), "has no '='",
                           "write name=value, as in --set gpu=a100-80g"})
            : published::set_cell(record, trim(word.substr(0, equals)), word.substr(equals + 1));
    errors.insert(errors.end(), status.error().begin(), status.error().end());
  }
  return errors.empty() ? Status() : Status(errors);
}

Result<ingest::Known> Gatherer::known_cells() const {
  Record probe;
  if (auto status = set_cells(probe); !status) return status.error();
  return published::cells_of(probe);
}

Result<Records> Gatherer::table(const fs::path& file) {
  if (auto status = check_cluster(app_, arguments_.cluster); !status) return status.error();
  auto rows = read_table(app_, file);
  if (!rows) return rows.error();
  for (auto& row : *rows)
    if (auto status = set_cells(row); !status) return status.error();
  return judge(std::move(*rows));
}

Result<Records> Gatherer::row(const std::string& id) {
  const auto files = shipped_tables(app_);
  if (!files) return files.error();
  Records all;
  for (const auto& file : *files) {
    auto records = table(file);
    if (!records) return records.error();
    append(all, std::move(*records));
  }
  for (auto& record : all)
    if (record.id == id) return Records{std::move(record)};
  return nothing_named(id);
}

Result<Records> Gatherer::logs(const std::vector<std::string>& paths) {
  if (auto status = check_cluster(app_, arguments_.cluster); !status) return status.error();
  const auto patterns = load_patterns(app_.places().logs(), arguments_.patterns);
  if (!patterns) return patterns.error();
  const auto known = known_cells();
  if (!known) return known.error();
  auto found = ingest::ingest(paths, *patterns,
                              {.set = *known,
                               .beside = known_beside,
                               .interrupted = interrupted,
                               .progress = show_progress});
  if (!found) return found.error();
  passed_.insert(passed_.end(), found->passed.begin(), found->passed.end());
  for (auto& run : found->runs) {
    if (auto status = set_cells(run); !status) return status.error();
    settle(run);
    run.measured.spikes = compare::find_spikes(run.measured.losses, run.measured.resumes);
  }
  return judge(std::move(found->runs));
}

Records Gatherer::judge(Records said) {
  auto out = judged(app_, said, arguments_.cluster);
  for (auto& record : said) {
    // Who reads the table later has no --cluster to say it with.
    if (!arguments_.cluster.empty() && !record.field("cluster"))
      record.set("cluster", arguments_.cluster);
    said_.push_back(std::move(record));
  }
  return out;
}

}  // namespace orch::app

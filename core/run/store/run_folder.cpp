#include "core/run/store/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "core/base/date.h"
#include "core/base/draft.h"
#include "core/base/json_fields.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/plan/estimate_json.h"
#include "core/plan/planned.h"
#include "core/plan/run_json.h"

namespace orch::store {
namespace {

constexpr std::size_t kLargestList = std::size_t{256} << 20;  // for a million ids
constexpr auto kPlanAgain = "move the run's folder away and plan the experiment again";

int count_scripts(const fs::path& folder) {
  if (!is_there(folder / "job.sbatch")) return 0;
  int phases = 1;
  while (is_there(folder / fmt::format("job-{}.sbatch", phases + 1))) ++phases;
  return phases;
}

// A follower of many runs prints one line for each that is damaged.
Error first_of(const Errors& errors) {
  auto error = errors.front();
  if (errors.size() > 1) error.fact += fmt::format(" (and {} more)", errors.size() - 1);
  return error;
}

void take_run(const plan::Run& run, record::LiveRun& out) {
  if (const auto ranks = run.layout.tensor_parallel; ranks > 1)
    out.variant += fmt::format("tensor_parallel={} ", ranks);
  if (const auto stages = run.layout.pipeline_parallel; stages > 1)
    out.variant += fmt::format("pipeline_parallel={} ", stages);
  out.record.set("strategy", run.strategy->name);
  out.record.set("cluster", run.cluster->name);
  out.record.set("gpus", run.gpus);
  out.record.set("nodes", run.nodes);
  out.record.set("accumulate", run.batch.accumulate);
  out.record.measured.steps_planned = run.total_steps();
  out.record.measured.gpu_hours = 0;
}

// What the steps of a job take, instead of all of the training.
void shorten(const plan::Run& run, plan::Estimate& estimate) {
  const double whole = estimate.gpu_hours;
  estimate.gpu_hours = plan::hours_of_steps(run, estimate.step_seconds);
  if (!(whole > 0)) return;
  for (double* each : {&estimate.cost, &estimate.energy_kwh, &estimate.co2_kg})
    *each *= estimate.gpu_hours / whole;
}

}  // namespace

Result<record::LiveRun> read_live_run(const fs::path& run_folder) {
  const auto run = plan::read_run(run_folder / "run.json");
  if (!run) return first_of(run.error());
  record::LiveRun out;
  take_run(*run, out);
  const auto estimate_path = run_folder / "estimate.json";
  const auto estimate_json = read_json(estimate_path, {.fix = kPlanAgain});
  if (!estimate_json) return estimate_json.error();
  if (*estimate_json) {
    JsonFields fields(**estimate_json);
    out.variant += fields.text_or("variant", "");
    auto& estimate = out.record.estimated.emplace(plan::parse_estimate(fields));
    if (!fields.problem().empty()) return damaged(estimate_path, fields.problem(), kPlanAgain);
    if (run->steps > 0) shorten(*run, estimate);
  }
  // Folders may have been renamed.
  out.record.id = run_folder.filename().string();
  out.record.source = run_folder.parent_path().filename().string();
  out.phases = count_scripts(run_folder);
  return out;
}

namespace {

// Parallel to {"quantity", "value", "below", "above", "where"}.
std::vector<plan::Expectation> read_expected(JsonFields& fields) {
  std::vector<plan::Expectation> out;
  if (!fields.has("expect")) return out;
  auto list = fields.object("expect");
  for (const auto& key : list.keys()) {
    auto one = list.object(key);
    plan::Expectation expectation{
        one.text("quantity"), one.number("value"), {}, {}, one.text_or("where", "")};
    if (one.has("below")) expectation.below = one.number("below");
    if (one.has("above")) expectation.above = one.number("above");
    out.push_back(std::move(expectation));
  }
  return out;
}

void write_expected(const std::vector<plan::Expectation>& expected, JsonWriter& to) {
  to.begin("expect");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& one = expected[i];
    to.begin(fmt::format("{:03}", i + 1)).field("quantity", one.quantity).field("value", one.value);
    if (one.below) to.field("below", *one.below);
    if (one.above) to.field("above", *one.above);
    if (!one.where.empty()) to.field("where", printable(one.where));
    to.end();
  }
  to.end();
}

}  // namespace

Result<std::optional<plan::Experiment>> read_experiment(const fs::path& experiment_folder) {
  const auto path = experiment_folder / "experiment.json";
  constexpr auto fix = "plan the experiment again";
  const auto json = read_json(path, {.fix = fix});
  if (!json) return json.error();
  if (!*json) return std::optional<plan::Experiment>();
  JsonFields fields(**json);
  plan::Experiment out;
  out.name = fields.text("name");
  out.file = fields.text("file");
  fields.number("gpu_hours");  // the only one that is always there
  for (const auto& each : plan::kExpenseLimits)
    out.budget.*each.limit = fields.number_or(each.name, 0);
  out.budget.deadline = parse_date(fields.text("deadline"));
  out.expect = read_expected(fields);
  if (!fields.problem().empty()) return damaged(path, fields.problem(), fix);
  return std::optional(std::move(out));
}

Status write_experiment(const fs::path& experiment_folder, const plan::Experiment& experiment) {
  const auto& budget = experiment.budget;
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{1})
      .field("name", printable(experiment.name))
      .field("file", printable(experiment.file))
      .field("deadline", budget.deadline ? format_date(*budget.deadline) : "");
  for (const auto& each : plan::kExpenseLimits)
    if (budget.*each.limit > 0 || each.limit == &plan::Budget::gpu_hours)
      to.field(each.name, budget.*each.limit);
  if (!experiment.expect.empty()) write_expected(experiment.expect, to);
  return write_file_atomically(experiment_folder / "experiment.json", std::move(to.end()).text());
}

Result<std::set<std::string>> read_wanted(const fs::path& experiment_folder) {
  std::set<std::string> ids;
  const auto path = experiment_folder / "wanted";
  const auto text = read_if_there(path, kLargestList);
  if (!text) return text.error();
  if (!*text || (*text)->empty()) return ids;
  bool sound = (*text)->ends_with('\n');
  for (auto& line : split(**text, '\n')) {
    sound = sound && line.size() < 256 && printable(line) == line;
    if (!line.empty()) ids.insert(std::move(line));
  }
  if (!sound)
    return damaged(path, "it is not a list of run ids",
                   "move that file away; orch run FILE.lua asks for its runs again");
  return ids;
}

Status add_wanted(const fs::path& experiment_folder, const std::vector<std::string>& ids) {
  auto wanted = read_wanted(experiment_folder);
  if (!wanted) return wanted.error();
  const auto before = wanted->size();
  wanted->insert(ids.begin(), ids.end());
  if (wanted->size() == before) return {};
  std::string text;
  for (const auto& id : *wanted) text += id + "\n";
  return write_file_atomically(experiment_folder / "wanted", text);
}

std::vector<std::string> run_ids(const fs::path& experiment_folder) {
  std::vector<std::string> ids;
  for (const auto& entry : entries_of(experiment_folder))
    if (!is_draft(entry) && is_there(entry / "run.json")) ids.push_back(entry.filename().string());
  return ids;
}

std::vector<std::string> experiments(const fs::path& root) {
  const auto has_run = [](const fs::path& folder) {
    std::error_code code;
    for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
         entry.increment(code))
      if (!is_draft(entry->path()) && is_there(entry->path() / "run.json")) return true;
    return false;
  };
  std::vector<std::string> names;
  for (const auto& entry : entries_of(root))
    if (is_there(entry / "submissions") || has_run(entry))
      names.push_back(entry.filename().string());
  return names;
}

std::optional<unsigned> owner_of(const fs::path& path) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0) return std::nullopt;
  return about.st_uid;
}

Status check_ours(const fs::path& path, std::optional<unsigned> or_of) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0)
    return errno == ENOENT ? Status() : Status(file_error(path, "cannot look at", errno));
  if (about.st_uid == ::geteuid() || about.st_uid == or_of) return {};
  return Error{
      printable(path.string()),
      fmt::format("belongs to another user (uid {}, you are {})", about.st_uid, ::geteuid()),
      "work as that user or name another place with --runs; --trust takes it as it is"};
}

Status check_owner(const fs::path& folder) {
  if (auto status = check_ours(folder); !status) return status;
  if (!is_there(folder)) return {};
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return file_error(folder, "cannot write in it", errno);
  return {};
}

}  // namespace orch::store

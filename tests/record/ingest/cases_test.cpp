// Each folder of cases/ has a log (log_of_case) and the facts that a person finds in it: first
// "runs 2", then the facts of each run, one per line. The next run begins with "run 2". "-" means
// that the log does not state the fact.

#include "core/base/text.h"
#include "core/record/published/columns.h"
#include "tests/record/ingest/logs.h"
#include "tests/test.h"

namespace orch::ingest {
namespace {

template <class T>
std::string shown(const std::optional<T>& value) {
  if (!value) return "-";
  if constexpr (std::is_same_v<T, bool>)
    return *value ? "true" : "false";
  else
    return fmt::format("{}", *value);
}

std::string shown(const std::string& text) { return text.empty() ? "-" : text; }

std::string shown(const std::vector<record::StepPoint>& points) {
  std::vector<std::string> out;
  for (const auto& point : points) out.push_back(fmt::format("{}:{:.4g}", point.step, point.value));
  return out.empty() ? "-" : join(out, " ");
}

// The value of a column of tables. "row_notes" are the notes as a table shows them.
std::string of_table(const record::Record& record, const std::string& name) {
  for (const auto& column : published::columns())
    if (column.name == (name == "row_notes" ? "notes" : name == "notes" ? "" : name))
      return shown(published::cell_text(column, record));
  return "";
}

std::string of_measurement(const record::Measurement& measured, const std::string& name) {
  if (name == "step_seconds")
    return measured.step_seconds ? fmt::format("{}", measured.step_seconds->value) : "-";
  if (name == "step_seconds_low")
    return shown(measured.step_seconds ? measured.step_seconds->low : std::nullopt);
  if (name == "step_seconds_high")
    return shown(measured.step_seconds ? measured.step_seconds->high : std::nullopt);
  if (name == "step_seconds_n") return fmt::format("{}", measured.step_seconds->n);
  if (name == "step_seconds_from") return shown(measured.step_seconds_from);
  if (name == "step_times") return shown(measured.step_times);
  if (name == "peaks") return shown(measured.peaks);
  if (name == "tokens_per_second") return shown(measured.tokens_per_second);
  if (name == "window") return shown(measured.window.rule);
  if (name == "memory_from") return shown(measured.peak_memory_from);
  if (name == "steps") return fmt::format("{}", measured.steps);
  if (name == "steps_planned") return fmt::format("{}", measured.steps_planned);
  if (name == "restarts") return fmt::format("{}", measured.restarts);
  if (name == "repeated") return fmt::format("{}", measured.repeated_steps);
  if (name == "resumes") return fmt::format("{}", fmt::join(measured.resumes, " "));
  if (name == "skipped") return fmt::format("{}", measured.skipped_steps);
  if (name == "nan") return fmt::format("{}", measured.nan_steps);
  if (name == "gpu_hours") return shown(measured.gpu_hours);
  if (name == "last_loss") return shown(measured.last_loss);
  if (name == "loss_points") return fmt::format("{}", measured.losses.size());
  if (name == "first_loss_tokens") return fmt::format("{}", measured.losses.front().tokens);
  if (name == "time_items") return fmt::format("{}", measured.time_items.size());
  if (name.starts_with("losses_at_"))
    for (const auto& point : measured.losses)
      if (point.step == std::stol(name.substr(10))) return fmt::format("{}", point.loss);
  if (name == "odd_nodes") {
    std::vector<std::string> names;
    for (const auto& node : measured.odd_nodes) names.push_back(node.name);
    return shown(join(names, ", "));
  }
  return "";
}

std::string of_record(const record::Record& record, const std::string& name) {
  if (name == "id") return record.id;
  if (name == "state") return std::string(record::name(record.state));
  if (name == "failure") return std::string(record::name(record.failure));
  if (name == "reason") return record.reason;
  if (name == "notes") return shown(record.notes);
  if (name == "doubts") return record.doubts.empty() ? "-" : record.doubts.front().reason;
  if (name == "job") return shown(record.origin.job);
  if (name == "start") return fmt::format("{}", record.origin.start);
  if (name == "end") return fmt::format("{}", record.origin.end);
  if (name == "node_names") return join(record.origin.nodes, " ");
  return "";
}

// The value of "time NAME" (an item of time), "more NAME", "argument NAME" or "version NAME".
std::string of_list(const record::Record& found, const std::string& kind, std::string& rest) {
  const auto end = rest.find(' ');
  const auto wanted = rest.substr(0, end);
  rest = rest.substr(end + 1);
  for (const auto& item : found.measured.time_items)
    if (kind == "time" && item.name == wanted)
      return fmt::format("{} {:.9g}", item.kind, item.amount);
  for (const auto& [name, value] : found.arguments)
    if (kind == "argument" && name == wanted) return value;
  for (const auto& field : found.fields)
    if (kind == "more" && field.name == wanted) return record::text(field.value);
  for (const auto& [name, version] : found.origin.versions)
    if (kind == "version" && name == wanted) return version;
  return "-";
}

bool alike(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char *a_end = nullptr, *b_end = nullptr;
  const double x = std::strtod(a.c_str(), &a_end), y = std::strtod(b.c_str(), &b_end);
  if (*a_end != '\0' || *b_end != '\0' || a.empty() || b.empty()) return false;
  return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y));
}

void check_fact(const record::Record& found, const std::string& line) {
  const auto end = line.find(' ');
  const auto name = line.substr(0, end);
  auto expected = line.substr(end + 1);
  std::string told;
  if (name == "time" || name == "more" || name == "version" || name == "argument") {
    told = of_list(found, name, expected);
  } else {
    told = of_table(found, name);
    if (told.empty()) told = of_measurement(found.measured, name);
    if (told.empty()) told = of_record(found, name);
  }
  INFO(line << "\nfound: " << told);
  CHECK(alike(told, expected));
}

void check_case(const fs::path& folder) {
  static const Patterns patterns = shipped();
  INFO(folder.filename().string());
  const LogFolder copy;
  const auto log = log_of_case(folder);
  const auto found = ingest({copy.write("log.txt", log).string()}, patterns);
  REQUIRE(found.has_value());
  CHECK(found->bytes == log.size());
  std::ifstream expected(folder / "expected.txt");
  std::size_t run = 0;
  std::size_t facts = 0;
  for (std::string line; std::getline(expected, line); ++facts) {
    if (line.starts_with("runs ")) {
      REQUIRE(found->runs.size() == std::stoul(line.substr(5)));
    } else if (line.starts_with("run ")) {
      run = std::stoul(line.substr(4)) - 1;
    } else {
      REQUIRE(run < found->runs.size());
      check_fact(found->runs[run], line);
    }
  }
  CHECK(facts > 1);
}

}  // namespace

TEST_CASE("what a person reads in a log is found in it", "[ingest]") {
  std::set<fs::path> folders;
  for (const auto& entry :
       fs::directory_iterator(fs::path(ORCH_SOURCE_DIR) / "tests/record/ingest/cases"))
    folders.insert(entry.path());
  REQUIRE(folders.size() > 30);
  for (const auto& folder : folders) check_case(folder);
}

}  // namespace orch::ingest

#include "core/run/store/index.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <functional>
#include <string_view>

#include "core/base/draft.h"
#include "core/base/json_fields.h"
#include "core/base/plain_file.h"
#include "core/plan/estimate_json.h"
#include "core/run/store/run_folder.h"

namespace orch::store {
namespace {

using SortedJson = nlohmann::json;

constexpr std::string_view kHead = "{\"orch_index\":8}";  // with its version

fs::path file_of(const fs::path& root) { return root / "index.jsonl"; }

constexpr std::array kTexts{"strategy", "cluster"};
constexpr std::array kCounts{"gpus", "nodes", "accumulate"};

std::string line_of(const StoreIndex::Row& row) {
  const auto& record = row.record;
  SortedJson json{{"experiment", record.source}, {"id", record.id},
                  {"variant", row.variant},      {"steps", record.measured.steps_planned},
                  {"phases", row.phases},        {"state", SortedJson::parse(state_json(row))},
                  {"stamp", row.stamp}};
  for (const auto* name : kTexts) json[name] = record.field_text(name);
  for (const auto* name : kCounts) json[name] = record.whole(name).value_or(0);
  if (record.estimated) {
    json["estimated"]["fit"] = name(record.estimated->fit);
    for (const auto& [name, member] : plan::kEstimateNumbers)
      json["estimated"][name] = (*record.estimated).*member;
  }
  return json.dump(-1, ' ', false, SortedJson::error_handler_t::replace);
}

StoreIndex::Row read_row(JsonFields& fields) {
  StoreIndex::Row row;
  auto& record = row.record;
  record.source = fields.text("experiment");
  record.id = fields.text("id");
  for (const auto* name : kTexts) record.set(name, fields.text(name));
  for (const auto* name : kCounts) record.set(name, fields.whole(name));
  row.variant = fields.text("variant");
  record.measured.steps_planned = fields.whole("steps");
  row.phases = static_cast<int>(fields.whole("phases", 0, 1'000'000));
  if (fields.has("estimated")) {
    auto estimated = fields.object("estimated");
    record.estimated = plan::parse_estimate(estimated);
  }
  auto state = fields.object("state");
  parse_state(state, row);
  row.stamp = fields.text("stamp");
  return row;
}

// How a line names its experiment: within a string value the quotes would be escaped.
constexpr std::string_view kExperiment = "\"experiment\":";
std::string mark_of(const std::string& experiment) {
  return std::string(kExperiment) +
         SortedJson(experiment).dump(-1, ' ', false, SortedJson::error_handler_t::replace);
}

// Visits the lines of all experiments; none for an index of another version. One line at a time:
// 200,000 runs have 200 MB of them.
Status each_line(const fs::path& root, const std::function<void(std::string_view)>& visit) {
  const auto path = file_of(root);
  const auto there = is_plain_file(path);
  if (!there) return there.error();
  if (!*there) return {};
  const PlainFile file(path);
  if (!file.is_open()) return file_error(path, "cannot open", errno);
  bool is_ours = false;
  file.each_line(0, [&](std::string_view line) {
    if (!is_ours) return is_ours = line == kHead;
    visit(line);
    return true;
  });
  return {};
}

// Nothing if the line is not a valid row.
std::optional<StoreIndex::Row> parse_row(std::string_view line) {
  const auto json = parse_json(line);
  if (!json.is_object()) return std::nullopt;
  JsonFields fields(json);
  auto row = read_row(fields);
  return fields.problem().empty() ? std::optional(std::move(row)) : std::nullopt;
}

// The new index while it is written. Lines that a reader would skip are left out.
class Draft {
 public:
  static Result<Draft> create(const fs::path& root) {
    auto file = DraftFile::create(file_of(root));
    if (!file) return file.error();
    Draft draft(std::move(*file));
    if (auto status = draft.add(kHead); !status) return status.error();
    return draft;
  }
  Status add(std::string_view line) {
    if (line.size() >= PlainFile::kLongestLine) return {};
    if (auto status = file_.append(line); !status) return status;
    return file_.append("\n");
  }
  Status publish() {
    if (auto status = file_.close(); !status) return status;
    return file_.publish();
  }

 private:
  explicit Draft(DraftFile file) : file_(std::move(file)) {}

  DraftFile file_;
};

Result<StoreIndex::Row> row_of(const fs::path& folder) {
  auto stamp = stamp_of(folder);
  auto run = read_live_run(folder);
  if (!run) return run.error();
  if (auto status = read_state(folder, *run); !status) return status.error();
  return StoreIndex::Row{std::move(*run), std::move(stamp)};
}

}  // namespace

std::deque<StoreIndex::Row> StoreIndex::rows(const std::string& experiment) {
  std::deque<Row> rows;
  const auto mark = mark_of(experiment);
  const auto status = each_line(root_, [&](std::string_view line) {
    if (line.find(mark) == line.npos) return;
    auto row = parse_row(line);
    if (row && row->record.source == experiment &&
        row->stamp == stamp_of(root_ / experiment / row->record.id))
      rows.push_back(std::move(*row));
  });
  why_ = status ? "" : status.error().front().text();
  return rows;
}

// Lines of other experiments stay as they are.
Status StoreIndex::put(const std::string& experiment, const std::vector<Row>& rows) const {
  auto draft = Draft::create(root_);
  if (!draft) return draft.error();
  const auto mark = mark_of(experiment);
  Status added;
  const auto read = each_line(root_, [&](std::string_view line) {
    if (added && line.find(kExperiment) != line.npos && line.find(mark) == line.npos)
      added = draft->add(line);
  });
  if (!read) return read;
  for (std::size_t i = 0; added && i < rows.size(); ++i) added = draft->add(line_of(rows[i]));
  return added ? draft->publish() : added;
}

// The inode is included: a file system's clock may be coarse, and each state.json is a new file.
std::string stamp_of(const fs::path& run_folder) {
  struct stat about = {};
  if (::stat((run_folder / "state.json").c_str(), &about) != 0) return {};
  return fmt::format("{}-{}.{:09}-{}", about.st_ino, about.st_mtim.tv_sec, about.st_mtim.tv_nsec,
                     about.st_size);
}

static Result<std::size_t> rebuild(const fs::path& root, Errors* damaged) {
  auto draft = Draft::create(root);
  if (!draft) return draft.error();
  std::size_t count = 0;
  for (const auto& experiment : experiments(root))
    for (const auto& id : run_ids(root / experiment)) {
      const auto row = row_of(root / experiment / id);
      if (damaged) damaged->add(row);
      if (!row) continue;
      if (auto status = draft->add(line_of(*row)); !status) return status.error();
      ++count;
    }
  if (auto status = draft->publish(); !status) return status.error();
  return count;
}

Result<std::size_t> rebuild_index(const fs::path& root, Errors* damaged) {
  auto count = rebuild(root, damaged);
  if (!count)
    return Error{count.error().front().text(), "the index cannot be written",
                 "orch works without it, but slower"};
  return count;
}

}  // namespace orch::store

#include "core/run/store/index.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <string_view>

#include "core/base/draft.h"
#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/plan/estimate_json.h"
#include "core/run/store/run_folder.h"

namespace orch::store {
namespace {

using Json = nlohmann::json;
using Rows = std::vector<Index::Row>;

constexpr std::string_view kHead = "{\"orch_index\":7}\n";  // its version
constexpr std::size_t kLargestIndex = std::size_t{1} << 30;

fs::path file_of(const fs::path& root) { return root / "index.jsonl"; }

constexpr std::array kTexts{"strategy", "cluster"};
constexpr std::array kCounts{"gpus", "nodes", "accumulate"};

std::string line_of(const Index::Row& row) {
  const auto& record = row.record;
  Json json{{"experiment", record.source},
            {"id", record.id},
            {"variant", row.variant},
            {"steps", record.measured.steps_planned},
            {"phases", row.phases},
            {"state", Json::parse(state_json(row))},
            {"stamp", row.stamp}};
  for (const auto* name : kTexts) json[name] = record.field_text(name);
  for (const auto* name : kCounts) json[name] = record.whole(name).value_or(0);
  if (record.estimated) {
    json["estimated"]["fit"] = name(record.estimated->fit);
    for (const auto& [name, member] : plan::kEstimateNumbers)
      json["estimated"][name] = (*record.estimated).*member;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Index::Row read_row(Fields& fields) {
  Index::Row row;
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

// Of all experiments. A line that is none of ours says nothing.
Result<Rows> read_rows(const fs::path& root) {
  const auto text = read_if_there(file_of(root), kLargestIndex);
  if (!text) return text.error();
  Rows rows;
  if (!*text || !(*text)->starts_with(kHead)) return rows;
  for (const auto& line : split(std::string_view(**text).substr(kHead.size()), '\n')) {
    const auto json = parse_json(line);
    if (!json.is_object()) continue;
    Fields fields(json);
    auto row = read_row(fields);
    if (fields.problem().empty()) rows.push_back(std::move(row));
  }
  return rows;
}

Status write_rows(const fs::path& root, const Rows& rows) {
  auto draft = DraftFile::create(file_of(root));
  if (!draft) return draft.error();
  if (auto status = draft->append(kHead); !status) return status;
  for (const auto& row : rows)
    if (auto status = draft->append(line_of(row)); !status) return status;
  if (auto status = draft->close(); !status) return status;
  return draft->publish();
}

Result<Index::Row> row_of(const fs::path& folder) {
  auto stamp = stamp_of(folder);
  auto run = read_live_run(folder);
  if (!run) return run.error();
  if (auto status = read_state(folder, *run); !status) return status.error();
  return Index::Row{std::move(*run), std::move(stamp)};
}

}  // namespace

std::vector<Index::Row> Index::rows(const std::string& experiment) {
  auto rows = read_rows(root_);
  why_ = rows ? "" : rows.error().front().text();
  if (!rows) return {};
  std::erase_if(*rows, [&](const Row& row) {
    return row.record.source != experiment ||
           row.stamp != stamp_of(root_ / experiment / row.record.id);
  });
  return std::move(*rows);
}

Status Index::put(const std::string& experiment, std::vector<Row> rows) const {
  auto all = read_rows(root_);
  if (!all) return all.error();
  std::erase_if(*all, [&](const Row& row) { return row.record.source == experiment; });
  std::move(rows.begin(), rows.end(), std::back_inserter(*all));
  return write_rows(root_, *all);
}

// The inode too: a clock of a file system may be coarse, and each state.json is a new file.
std::string stamp_of(const fs::path& run_folder) {
  struct stat about = {};
  if (::stat((run_folder / "state.json").c_str(), &about) != 0) return {};
  return fmt::format("{}-{}.{:09}-{}", about.st_ino, about.st_mtim.tv_sec, about.st_mtim.tv_nsec,
                     about.st_size);
}

Result<std::size_t> rebuild_index(const fs::path& root, Errors* damaged) {
  Rows rows;
  for (const auto& experiment : experiments(root))
    for (const auto& id : run_ids(root / experiment)) {
      auto row = row_of(root / experiment / id);
      if (damaged) damaged->add(row);
      if (row) rows.push_back(std::move(*row));
    }
  if (auto status = write_rows(root, rows); !status)
    return Error{status.error().front().text(), "the index cannot be written",
                 "orch works without it, but slower"};
  return rows.size();
}

}  // namespace orch::store

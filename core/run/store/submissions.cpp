#include "core/run/store/submissions.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/draft.h"
#include "core/base/json_fields.h"
#include "core/base/json_writer.h"
#include "core/base/number.h"
#include "core/base/text.h"

namespace orch::store {
namespace {

constexpr auto kFolder = "submissions";
constexpr std::size_t kLargest = std::size_t{64} << 20;  // for a hundred thousand runs
constexpr std::size_t kLongestAnswer = 4096;
constexpr std::size_t kDigits = 16;

struct SubmissionLine {
  std::uint64_t number;
  std::string id;
  bool operator<(const SubmissionLine& other) const {
    return number != other.number ? number < other.number : id < other.id;
  }
};

// "0007-9f3c2ab81d04e657"
std::optional<SubmissionLine> parse_id(const std::string& name) {
  const auto dash = name.find('-');
  if (dash == std::string::npos || name.size() - dash - 1 != kDigits) return std::nullopt;
  if (name.find_first_not_of("0123456789abcdef", dash + 1) != std::string::npos)
    return std::nullopt;
  const auto number = number_from<std::uint64_t>(std::string_view(name).substr(0, dash));
  if (!number || dash > 15) return std::nullopt;
  return SubmissionLine{*number, name};
}

Result<std::vector<SubmissionLine>> list(const fs::path& folder) {
  const auto found = entries_if_there(folder);
  if (!found) return found.error();
  std::vector<SubmissionLine> entries;
  for (const auto& entry : *found)
    if (auto parsed = parse_id(entry.filename().string())) entries.push_back(*parsed);
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string to_json(const record::Submission& submission) {
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{1})
      .field("id", submission.id)
      .field("executor", submission.executor)
      .field("time", submission.time)
      .field("array", submission.array)
      .field("serial", submission.serial)
      .field("phase", std::int64_t{submission.phase})
      .field("after", submission.after)
      .begin_list("runs");
  for (const auto& run : submission.runs) to.item(run);
  to.end_list().begin_list("script_sums");
  for (const auto& sums : submission.sums) to.item(sums.script);
  to.end_list().begin_list("start_sums");
  for (const auto& sums : submission.sums) to.item(sums.start);
  to.end_list();
  return std::move(to.end()).text();
}

// A folder name without a path.
bool is_folder_name(const std::string& name) {
  return !name.empty() && name.size() < 256 && name[0] != '.' &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

std::vector<record::ScriptSums> read_sums(JsonFields& fields, std::size_t runs) {
  const auto scripts = fields.texts("script_sums"), starts = fields.texts("start_sums");
  std::vector<record::ScriptSums> out;
  if (scripts.size() != starts.size() || (scripts.size() != runs && !scripts.empty()))
    fields.complain("the number of checksums differs from the number of runs");
  else
    for (std::size_t i = 0; i < scripts.size(); ++i) out.push_back({scripts[i], starts[i]});
  return out;
}

void check(const record::Submission& submission, const std::string& id, JsonFields& fields) {
  if (submission.id != id) fields.complain("its id is not the name of its folder");
  if (submission.runs.empty()) fields.complain("it has no runs");
  if (!submission.array && !submission.serial && submission.runs.size() > 1)
    fields.complain("it has several runs, but is neither an array nor serial");
  if (!std::all_of(submission.runs.begin(), submission.runs.end(), is_folder_name))
    fields.complain("'runs' has an invalid run name");
}

Result<record::Submission> read_frozen(const fs::path& folder, const std::string& id) {
  const auto path = folder / "submission.json";
  const auto fix = fmt::format(
      "end the job that has orch:{} in its comment (squeue -o '%i %k' tells), then move that "
      "folder away",
      id);
  const auto json = read_json(path, {kLargest, false, fix});
  if (!json) return json.error();
  if (!*json) return damaged(path, "it is missing", fix);
  JsonFields fields(**json);
  record::Submission out;
  out.id = fields.text("id");
  out.executor = fields.text("executor");
  out.time = fields.number("time");
  out.array = fields.flag("array");
  out.serial = fields.has("serial") && fields.flag("serial");
  out.phase = static_cast<int>(fields.whole("phase", 1, 1'000'000));
  out.after = fields.text("after");
  out.runs = fields.texts("runs");
  out.sums = read_sums(fields, out.runs.size());
  check(out, id, fields);
  if (!fields.problem().empty()) return damaged(path, fields.problem(), fix);
  return out;
}

bool is_visible(char c) { return c > ' ' && c < 127; }

Status read_fate(const fs::path& folder, record::Submission& submission) {
  const auto job = read_if_there(folder / "job", kLongestAnswer);
  if (!job) return job.error();
  if (*job) submission.job = trim(**job);
  if (!std::all_of(submission.job.begin(), submission.job.end(), is_visible))
    return damaged(folder / "job", "it holds no job id", "write the id into it, or remove it");
  if (submission.job.empty()) {
    const auto answer = read_if_there(folder / "answer", kLargest);
    if (!answer) return answer.error();
    if (*answer) submission.job = record::parse_answer(**answer).value_or("");
  }
  const auto refused = read_if_there(folder / "refused", kLargest);
  if (!refused) return refused.error();
  if (*refused) submission.refused = trim(**refused);
  return {};
}

Result<std::uint64_t> random_bits() {
  std::uint64_t bits = 0;
  while (::getrandom(&bits, sizeof bits, 0) != sizeof bits)
    if (errno != EINTR) return file_error("getrandom", "cannot read random numbers", errno);
  return bits;
}

Status note(const fs::path& path, const std::string& text) {
  if (auto status = write_file_atomically(path, text + "\n"); !status) return status;
  sync_folder(path.parent_path());
  return {};
}

}  // namespace

Result<std::vector<OpenedSubmission>> read_submissions(const fs::path& experiment_folder,
                                                       Errors* damaged) {
  const auto place = experiment_folder / kFolder;
  const auto entries = list(place);
  if (!entries) return entries.error();
  std::vector<OpenedSubmission> out;
  out.reserve(entries->size());
  Errors errors;
  for (const auto& entry : *entries) {
    const auto folder = place / entry.id;
    auto submission = read_frozen(folder, entry.id);
    const auto status = submission ? read_fate(folder, *submission) : Status(submission.error());
    if (errors.add(status)) out.push_back({std::move(*submission), folder});
  }
  if (!errors.empty() && !damaged) return errors;
  if (damaged) damaged->insert(damaged->end(), errors.begin(), errors.end());
  return out;
}

const char* script_name(bool serial) { return serial ? "serial.sbatch" : "array.sbatch"; }

Result<fs::path> write_submission(const fs::path& experiment_folder, record::Submission& submission,
                                  const std::string& script) {
  const auto place = experiment_folder / kFolder;
  std::error_code code;
  const bool made = fs::create_directory(place, code);
  if (code) return file_error(place, "cannot create", code.value());
  if (made) sync_folder(experiment_folder);
  remove_dead_drafts(place);
  const auto entries = list(place);
  if (!entries) return entries.error();
  const auto bits = random_bits();
  if (!bits) return bits.error();
  const auto number = entries->empty() ? 1 : entries->back().number + 1;
  submission.id = fmt::format("{:04}-{:016x}", number, *bits);

  std::vector<DraftContent> files{{"submission.json", to_json(submission)}};
  if (!script.empty()) files.push_back({script_name(submission.serial), script});
  auto draft = DraftFolder::create(place / submission.id, files);
  if (!draft) return draft.error();
  if (auto status = draft->sync(); !status) return status.error();
  if (auto status = draft->publish(); !status) return status.error();
  sync_folder(place);
  return place / submission.id;
}

Status note_job(const fs::path& submission_folder, const std::string& job) {
  return note(submission_folder / "job", job);
}

Status note_refusal(const fs::path& submission_folder, const std::string& message) {
  // An empty file would not count as a refusal.
  return note(submission_folder / "refused", trim(message).empty() ? "no message" : message);
}

// Renamed first: a submission exists completely or not at all.
void drop_submission(const fs::path& submission_folder) {
  std::error_code code;
  const auto aside = submission_folder.parent_path() /
                     fmt::format(".dropped-{}", submission_folder.filename().string());
  fs::rename(submission_folder, aside, code);
  remove_tree(code ? submission_folder : aside);
}

}  // namespace orch::store

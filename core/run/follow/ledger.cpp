#include "core/run/follow/ledger.h"

#include <algorithm>

namespace orch::follow {

Status Ledger::read(Errors& damaged) {
  const auto time = folder_time();  // before reading, so that no change is missed
  auto read = store::read_submissions(folder_, &damaged);
  if (!read) return read.error();
  all_ = std::move(*read);
  seen_ = time;
  runs_.clear();
  for (std::size_t i = 0; i < all_.size(); ++i) enter(i);
  return {};
}

fs::file_time_type Ledger::folder_time() const {
  std::error_code ignored;
  const auto time = fs::last_write_time(folder_ / "submissions", ignored);
  return ignored ? fs::file_time_type::min() : time;
}

void Ledger::enter(std::size_t submission) {
  const auto& runs = all_[submission].submission.runs;
  for (std::size_t task = 0; task < runs.size(); ++task)
    runs_[runs[task]].push_back({submission, task});
}

const std::vector<Ledger::Entry>& Ledger::of(const std::string& run) const {
  static const std::vector<Entry> none;
  const auto found = runs_.find(run);
  return found == runs_.end() ? none : found->second;
}

std::optional<Ledger::Entry> Ledger::last(const std::string& run, int phase) const {
  const auto& entries = of(run);
  const auto found = std::find_if(entries.rbegin(), entries.rend(), [&](const Entry& entry) {
    return at(entry).submission.phase == phase;
  });
  if (found == entries.rend()) return std::nullopt;
  return *found;
}

void Ledger::add(store::OpenedSubmission opened) {
  all_.push_back(std::move(opened));
  seen_ = folder_time();
  enter(all_.size() - 1);
}

Status Ledger::note_job(std::size_t submission, const std::string& job) {
  all_[submission].submission.job = job;
  return store::note_job(all_[submission].folder, job);
}

Status Ledger::note_refusal(std::size_t submission, const std::string& message) {
  all_[submission].submission.refused = message;
  return store::note_refusal(all_[submission].folder, message);
}

void Ledger::drop(std::size_t submission) {
  store::drop_submission(all_[submission].folder);
  for (const auto& run : all_[submission].submission.runs)
    std::erase_if(runs_[run], [&](const Entry& entry) { return entry.submission == submission; });
  all_[submission].submission.runs.clear();
  all_[submission].submission.refused = "dropped";
}

std::vector<std::size_t> Ledger::unanswered() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i].submission.job.empty() && all_[i].submission.refused.empty()) out.push_back(i);
  return out;
}

}  // namespace orch::follow

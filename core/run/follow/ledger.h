#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/run/store/submissions.h"

namespace orch::follow {

// The submissions of an experiment, and which of them a run is in.
class Ledger {
 public:
  // The place of a run in a submission.
  struct Entry {
    std::size_t submission = 0;  // index in all()
    std::size_t task = 0;
  };

  explicit Ledger(fs::path experiment_folder) : folder_(std::move(experiment_folder)) {}

  // Damaged submissions are left out and added to `damaged`.
  Status read(Errors& damaged);
  // True if submissions were added or removed since the last read, by any process, or if some are
  // unanswered: an answer does not change the time of the folder.
  bool has_changed() const { return folder_time() != seen_ || !unanswered().empty(); }
  const std::vector<store::OpenedSubmission>& all() const { return all_; }
  const store::OpenedSubmission& at(const Entry& entry) const { return all_[entry.submission]; }

  // All submissions of a run in order; and the last one of a phase.
  const std::vector<Entry>& of(const std::string& run) const;
  std::optional<Entry> last(const std::string& run, int phase) const;

  void add(store::OpenedSubmission opened);
  Status note_job(std::size_t submission, const std::string& job);
  Status note_refusal(std::size_t submission, const std::string& message);
  void drop(std::size_t submission);  // removes a submission that the executor has not seen

  // The submissions for which it is unknown if the executor accepted them.
  std::vector<std::size_t> unanswered() const;

 private:
  void enter(std::size_t submission);
  fs::file_time_type folder_time() const;

  fs::path folder_;
  fs::file_time_type seen_ = fs::file_time_type::min();  // of their folder, when last read
  std::vector<store::OpenedSubmission> all_;
  std::map<std::string, std::vector<Entry>> runs_;
};

}  // namespace orch::follow

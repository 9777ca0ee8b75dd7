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
  // A run's place in a submission.
  struct Entry {
    std::size_t submission = 0;  // in all()
    std::size_t task = 0;
  };

  explicit Ledger(fs::path experiment_folder) : folder_(std::move(experiment_folder)) {}

  // Those that are damaged are left out and told.
  Status read(Errors& damaged);
  // Whether submissions came or went since, by others too; or may have been answered, which the
  // time of their folder does not tell.
  bool has_changed() const { return folder_time() != seen_ || !unanswered().empty(); }
  const std::vector<store::OpenedSubmission>& all() const { return all_; }
  const store::OpenedSubmission& at(const Entry& entry) const { return all_[entry.submission]; }

  // All submissions of a run in order, and the last one of a phase.
  const std::vector<Entry>& of(const std::string& run) const;
  std::optional<Entry> last(const std::string& run, int phase) const;

  void add(store::OpenedSubmission opened);
  Status note_job(std::size_t submission, const std::string& job);
  Status note_refusal(std::size_t submission, const std::string& message);
  void drop(std::size_t submission);  // takes it back: the executor has not seen it

  // Those for which nobody knows whether the executor took them.
  std::vector<std::size_t> unanswered() const;

 private:
  void enter(std::size_t submission);
  fs::file_time_type folder_time() const;

  fs::path folder_;
  fs::file_time_type seen_ = fs::file_time_type::min();  // of the submissions, as last read
  std::vector<store::OpenedSubmission> all_;
  std::map<std::string, std::vector<Entry>> runs_;
};

}  // namespace orch::follow

#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/run.h"
#include "core/plan/strategy.h"
#include "core/price/backend/work.h"
#include "include/orch/backend.h"

namespace orch::backend {

// Advice to the author of a plug-in that does not match this orch.
inline constexpr const char* kRebuild =
    "rebuild it with this orch's SDK, or take it out of the folder";

// The numbers of problems, and the field of the first of each kind: all that a search needs.
struct ProblemTally {
  std::size_t reasons = 0;
  std::size_t warnings = 0;
  std::string reason, warning;  // fields of the first ones

  void clear() { reasons = warnings = 0; }
};

// A run in the border's form. It points into the run, which must not change meanwhile, but for
// settings that are converted again: a search changes one run millions of times.
class AbiRun {
 public:
  // strategy: its index in the backend's list.
  AbiRun(const plan::Run& run, std::uint32_t strategy);
  AbiRun(const AbiRun&) = delete;
  AbiRun& operator=(const AbiRun&) = delete;

  void convert();                       // again, if anything has changed
  void convert_setting(std::size_t i);  // if only this one has changed

  const orch_run* get() const { return &run_; }

 private:
  const plan::Run& from_;
  std::uint32_t strategy_;
  std::vector<orch_value> values_;
  std::array<orch_size, plan::kSizes.size()> sizes_;
  orch_run run_{};
};

struct Collector;

// A loaded plug-in. Never unloaded, so pointers to its description stay valid.
class Backend {
 public:
  // Reads what the entry function of a plug-in returned; every flaw of the description is an error.
  static Result<Backend> from(const orch_backend* abi, const fs::path& file);

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& doc() const { return doc_; }
  const fs::path& file() const { return file_; }
  const std::vector<plan::StrategyPtr>& strategies() const { return strategies_; }

  // Adds every problem with the run: reasons to reject it, and warnings.
  void check(const plan::Run& run, std::vector<Error>& reasons, std::vector<Error>& warnings) const;

  // Describes a step of the run, with the names and formulas that are asked for. Fails if the
  // backend does, or if its answer makes no sense (stages without work, negative amounts).
  Status work(const plan::Run& run, WorkTexts explained, Work& work) const;

  // The same for millions of runs, without any text.
  AbiRun abi_run(const plan::Run& run) const;
  Status work(const AbiRun& run, WorkTexts explained, Work& work) const;
  // Checks the run and, if there is no reason to reject it, describes at least its memory.
  Status fit(const AbiRun& run, ProblemTally& tally, Work& work) const;
  // Describes the rest of the work of a run that fit() has passed.
  Status add_time(const AbiRun& run, Work& work) const;

 private:
  Backend(const orch_backend* abi, fs::path file);
  std::uint32_t index_of(const plan::Strategy& strategy) const;
  template <class Call>
  void guarded(const AbiRun& run, Collector& collector, const Call& call) const;
  Errors of_file(Errors errors) const;  // with the file in their places

  const orch_backend* abi_;
  fs::path file_;
  std::string name_, version_, doc_;
  std::vector<plan::StrategyPtr> strategies_;
};

// The plug-ins of some folders, found by the name orch-*.abi3.so with this orch's ABI; if two have
// the same file name, the one in the earlier folder is used. A backend that exists only for another
// ABI is an error.
class Backends {
 public:
  // Every problem with a folder or a plug-in is an error that names it.
  static Result<Backends> load(const std::vector<fs::path>& folders);

  const std::vector<Backend>& all() const { return backends_; }
  std::vector<plan::StrategyPtr> strategies() const;
  const Backend& of(const plan::Strategy& strategy) const;

 private:
  std::vector<Backend> backends_;
};

}  // namespace orch::backend

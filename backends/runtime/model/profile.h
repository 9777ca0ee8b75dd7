#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace orch::train {

// Measures the parts of a step's time, by the estimator's names ("QKV", "optimizer", …). On the CPU
// every step is measured; on CUDA only between begin() and end() of a requested step, with events.
class Profile {
 public:
  explicit Profile(bool cuda);
  ~Profile();

  void begin_step(bool measure);  // measure: for CUDA; the CPU always measures
  void end_step();

  // Seconds per item over the measured steps, and the number of steps; without the first (warm-up).
  std::map<std::string, double> seconds_per_step() const;
  std::int64_t steps() const;
  bool is_measuring() const;  // within a step
  // For the last step; nothing if it was not measured.
  std::optional<double> last_seconds(const std::string& item) const;
  // The same for all items but those in which a rank waits for others.
  std::optional<double> last_busy_seconds() const;

  // Measures until it goes out of scope. Scopes may nest: the inner time is excluded from the
  // outer's. All of them must be on one thread and within a step; item must outlive the step. Null
  // profile: nothing is measured.
  class Scope {
   public:
    Scope(Profile* profile, const char* item);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Profile* profile_;
  };

 private:
  friend class Scope;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orch::train

#pragma once

#include <sys/types.h>

#include <functional>
#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/record/facts.h"
#include "tests/place.h"

namespace orch::test {

// run.json of a small model on `ranks` ranks of the CPU, as orch would write it; change what a test
// needs.
nlohmann::ordered_json small_run(int ranks);

// Four heads on two keys and values, with their norms, and a separate head.
nlohmann::ordered_json small_llama();

// small_run with four layers, like the following ones.
nlohmann::ordered_json ddp_run(int ranks);

// The same for the trainer of tensor and pipeline parallelism: four layers, 4 / data_parallel
// micro-batches.
nlohmann::ordered_json megatron_run(int tensor, int pipeline, int data);

// The same for the trainer of ZeRO and FSDP: four layers. name: zero3, deepspeed or fsdp, with its
// own settings.
nlohmann::ordered_json zero_run(const std::string& name, int ranks,
                                const nlohmann::ordered_json& settings = {});

// The result of an attempt's ranks.
struct TrainerAttempt {
  std::vector<int> exit_codes;  // 128 + n: by signal n
  std::string output;           // of all ranks, behind their numbers
  double seconds = 0;
  fs::path folder;

  bool ok() const;
  bool finished() const;  // true if the file "finished" exists
  std::vector<nlohmann::json> events() const;
  nlohmann::json event(const std::string& name) const;  // the last one; null: none
  // As orch reads it: of ranks that fail together, some only report the failure of another.
  record::FailureReport failure() const;
};

struct AttemptOptions {
  std::map<std::string, std::string> environment;
  // While they run, in the test's own process.
  std::function<void(const std::vector<pid_t>&, const fs::path& attempt)> meanwhile;
  // true: the program is started, as by a job script. false: ranks are forked from this process and
  // call the trainer's main(), which takes a third of the time.
  bool started = false;
};

// A run folder in which real trainers run, one process per rank.
class TrainerRun {
 public:
  explicit TrainerRun(nlohmann::ordered_json run_json);
  TrainerRun(const TrainerRun&) = delete;
  TrainerRun& operator=(const TrainerRun&) = delete;

  void write(const nlohmann::ordered_json& run_json);  // another one, for example with more ranks
  // One process per rank of run.json, until all have ended (at most two minutes).
  TrainerAttempt attempt(const AttemptOptions& options = {});

  const fs::path& folder() const { return place_.root(); }
  fs::path checkpoints() const { return folder() / "checkpoints"; }
  // Of all attempts, by step; the last value of a repeated step.
  std::map<int, double> losses() const;
  // A tensor of the last checkpoint, whole, in fp32.
  std::vector<float> saved(const std::string& name) const;
  std::map<std::string, std::vector<float>> weights() const;

 private:
  TestFolder place_;
  std::string program_, backend_;
  int ranks_ = 1;
  int attempts_ = 0;
};

// Waits until an attempt has done `step` steps; false if the time is over.
bool wait_for_step(const fs::path& attempt, int step, double seconds = 300);

// NaN is larger than any number: it never passes for a small difference.
double larger(double a, double b);

// The largest difference.
double distance(const std::vector<float>& a, const std::vector<float>& b);
double distance(const std::map<std::string, std::vector<float>>& a,
                const std::map<std::string, std::vector<float>>& b);

// The results of a training.
struct TrainedRun {
  std::map<int, double> losses;
  std::map<std::string, std::vector<float>> weights;
  std::map<int, double> norms = {};  // of the gradient, by step
  // Bitwise. Norms are added up in the order of ranks.
  bool operator==(const TrainedRun& other) const {
    return losses == other.losses && weights == other.weights;
  }
};
std::ostream& operator<<(std::ostream& to, const TrainedRun& trained);
TrainedRun train(const nlohmann::ordered_json& json, const AttemptOptions& options = {});
// Cached for all cases that need it.
const TrainedRun& trained(const nlohmann::ordered_json& json);
double worst_loss(const TrainedRun& a, const TrainedRun& b);
double worst_norm(const TrainedRun& a, const TrainedRun& b);  // relative
// Compares losses and weights, and the norm to 1e-6: a value counted twice would change it by a
// thousandth and more.
void expect_near(const TrainedRun& got, const TrainedRun& wanted, double losses, double weights);

}  // namespace orch::test

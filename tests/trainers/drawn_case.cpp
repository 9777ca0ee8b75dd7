// A case trains six steps in one process and in a random layout, which saves after four; another
// random layout continues from there. A layout counts as possible if orch plans it.
#include "tests/trainers/drawn_case.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "core/plan/run_json.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/train/huggingface/huggingface.h"
#include "tests/trainers/trainer.h"

namespace orch::test {
namespace {

constexpr int kSavedAt = 4, kSteps = 6;  // as in draw.cpp
constexpr int kMostDraws = 300;

// Sums in another order; and products rounded to 8 bits, which AdamW turns into whole steps.
constexpr Distances kExact{2e-6, 2e-6, 1e-5, 5e-6, 1e-5}, kRounded{0.005, 0.005, 0.1, 0.02, 0.2};

using Tensors = std::map<std::string, std::vector<float>>;

std::string shipped(const std::string& name) {
  const auto text = read_file(ORCH_SOURCE_DIR "/experiments/" + name);
  if (!text) throw std::runtime_error(orch::text(text.error()));
  return *text;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("experiments/ do not have '" + from + "'");
  text.replace(at, from.size(), to);
}

std::map<int, double> numbers_of(const TrainerAttempt& attempt, const std::string& event,
                                 const char* name) {
  std::map<int, double> all;
  for (const auto& each : attempt.events())
    if (each.at("event") == event && each.at(name).is_number())  // a norm that overflowed is null
      all[each.at("step")] = each.at(name);
  return all;
}

// Over the steps in `got`.
double difference(const std::map<int, double>& got, const std::map<int, double>& wanted) {
  double most = 0;
  for (const auto& [step, value] : got) {
    const double other = wanted.contains(step) ? wanted.at(step) : INFINITY;
    most = larger(most, std::abs(value - other) / std::max(1e-3, std::abs(other)));
  }
  return most;
}

Tensors tensors_of(const checkpoint::CheckpointReader& reader, bool weights) {
  Tensors all;
  for (const auto& name : reader.names()) {
    if (name.starts_with("weights/") != weights) continue;
    const auto wanted = checkpoint::TensorPiece::whole(name, checkpoint::TensorDtype::f32,
                                                       reader.find(name)->shape);
    auto& values = all[name];
    values.resize(static_cast<std::size_t>(wanted.end));
    if (const auto status = reader.read(wanted, std::as_writable_bytes(std::span(values))); !status)
      throw std::runtime_error(text(status.error()));
  }
  return all;
}

// Relative to the largest element of its kind ("exp_avg"): a tensor of zeros contains noise.
double difference(const Tensors& got, const Tensors& wanted) {
  std::map<std::string, double> largest;
  const auto kind = [](const std::string& name) { return name.substr(0, name.find('/')); };
  for (const auto& [name, values] : wanted)
    for (const float value : values)
      largest[kind(name)] = std::max(largest[kind(name)], std::abs(static_cast<double>(value)));
  if (got.size() != wanted.size() || got.empty()) return INFINITY;
  double most = 0;
  for (const auto& [name, values] : got) {
    if (!wanted.contains(name)) return INFINITY;
    const double apart = distance(values, wanted.at(name));
    if (apart != 0) most = larger(most, apart / largest[kind(name)]);
  }
  return most;
}

checkpoint::CheckpointReader newest(const TrainerRun& run) {
  auto latest = checkpoint::open_latest(run.checkpoints());
  if (!latest.reader || latest.reader->facts().step != kSteps)
    throw std::runtime_error(fmt::format("no checkpoint of step {}", kSteps));
  return std::move(*latest.reader);
}

TrainerAttempt finish(TrainerRun& run, const char* who) {
  auto attempt = run.attempt();
  if (!attempt.ok() || !attempt.finished())
    throw std::runtime_error(fmt::format("{} fails\n{}", who, attempt.output));
  return attempt;
}

Distances compare(const TrainerAttempt& got, const checkpoint::CheckpointReader& saved,
                  const TrainerAttempt& wanted, const checkpoint::CheckpointReader& expected) {
  const auto both = [&](const char* event, const char* name) {
    return difference(numbers_of(got, event, name), numbers_of(wanted, event, name));
  };
  return {both("step", "loss"), both("evaluation", "loss"), both("step", "gradient_norm"),
          difference(tensors_of(saved, true), tensors_of(expected, true)),
          difference(tensors_of(saved, false), tensors_of(expected, false))};
}

// True if transformers has such a model; then the exported one must be read back bitwise equal.
bool export_again(const checkpoint::CheckpointReader& from, const TestFolder& place,
                  const std::string& name) {
  const auto folder = place.root() / name;
  const auto exported = huggingface::export_model(from, folder);
  if (!exported && text(exported.error()).find("can be exported") != std::string::npos)
    return false;
  if (!exported) throw std::runtime_error("the export fails: " + text(exported.error()));
  const auto imported = huggingface::import_model(folder, place.root() / (name + "-back"));
  if (!imported)
    throw std::runtime_error("the export cannot be imported: " + text(imported.error()));
  const auto back = checkpoint::open_at(imported->checkpoint);
  if (!back.reader || tensors_of(*back.reader, true) != tensors_of(from, true))
    throw std::runtime_error("what was exported has other weights");
  return true;
}

// True if they can be exported; both layouts must export the same model.
bool export_both(const checkpoint::CheckpointReader& first,
                 const checkpoint::CheckpointReader& second) {
  const TestFolder place;
  const bool can = export_again(first, place, "first");
  if (export_again(second, place, "second") != can)
    throw std::runtime_error("only one of the two layouts can be exported");
  const auto config = [&](const char* folder) {
    return *read_file(place.root() / folder / "config.json");
  };
  if (can && config("first") != config("second"))
    throw std::runtime_error("the two layouts export other models");
  return can;
}

void check(const Distances& found, const Distances& most, const char* what) {
  if (found.loss <= most.loss && found.evaluation <= most.evaluation && found.norm <= most.norm &&
      found.weights <= most.weights && found.states <= most.states)
    return;
  throw std::runtime_error(
      fmt::format("{}: losses differ by {:.1e}, those of evaluations by {:.1e}, norms by {:.1e}, "
                  "weights by {:.1e}, states by {:.1e}",
                  what, found.loss, found.evaluation, found.norm, found.weights, found.states));
}

}  // namespace

Planner::Planner() {
  ::setenv("ORCH_HOME", ORCH_SOURCE_DIR, 1);
  ::setenv("ORCH_PLUGINS", ORCH_BINARY_DIR "/plugins", 1);
  ::setenv("XDG_DATA_HOME", place_.root().c_str(), 1);
  ::unsetenv("ORCH_TRAINER");
  auto cluster = shipped("clusters/local.yaml"), gpus = shipped("gpus.yaml");
  replace(cluster, "\nname: local\n", "\nname: drawn\n");
  replace(cluster, "gpus_per_node: 4\n", "gpus_per_node: 8\n");
  // On a CPU our trainers support more than is planned.
  const std::string narrow = "    bf16: { value: 30 GFLOPs, ";
  replace(gpus, narrow, "    fp16: { value: 30 GFLOPs, origin: \"assumed: as bf16\" }\n" + narrow);
  place_.file("clusters/drawn.yaml", cluster);
  place_.file("gpus.yaml", gpus);
  auto app = app::App::create();
  if (!app) throw std::runtime_error(orch::text(app.error()));
  app_ = std::move(*app);
}

std::optional<nlohmann::ordered_json> Planner::plan(const std::string& lua) {
  const auto file = place_.file("drawn.lua", lua);
  app::PlanOptions options;
  options.runs = "";
  const auto planned = app_->plan(file, options);
  if (!planned) throw std::runtime_error(text(planned.error()) + "\n" + lua);
  if (planned->runs.size() != 1) return std::nullopt;
  auto json = nlohmann::ordered_json::parse(plan::run_json(planned->runs.front().run));
  json.erase("checksum");  // it is written with other spaces
  return json;
}

DrawnCase::DrawnCase(Planner& planner, std::uint64_t seed, int number)
    : planner_(planner), draw_(seed * 1'000'003 + static_cast<std::uint64_t>(number)) {}

std::string DrawnCase::row() const {
  auto text = fmt::format("{:<11} {} {:<9}", asked_.family, asked_.dtype, asked_.optimizer);
  for (std::size_t i = 1; i < layouts_.size(); ++i)
    text += fmt::format(" {:<16}", layouts_[i].name);
  return text;
}

std::string DrawnCase::files() const {
  std::string text;
  for (const auto& layout : layouts_) text += lua(asked_, layout);
  return text;
}

nlohmann::ordered_json DrawnCase::draw_until_possible(const std::function<DrawnLayout()>& draw) {
  for (int tries = 0; tries < kMostDraws; ++tries) {
    layouts_.push_back(draw());
    ++outcome_.drawn;
    if (auto json = planner_.plan(lua(asked_, layouts_.back()))) return *json;
    ++outcome_.refused;
    layouts_.pop_back();
  }
  throw std::runtime_error("orch refuses every layout of " + asked_.model);
}

void DrawnCase::run() {
  TrainerRun one(draw_until_possible([&] {
    asked_ = draw_training(draw_);
    return single(draw_, asked_);
  }));
  const auto draw = [&] { return draw_layout(draw_, asked_); };
  TrainerRun first(draw_until_possible(draw)), second(draw_until_possible(draw));

  const auto wanted = finish(one, "one process"), whole = finish(first, "the first layout");
  fs::create_directories(second.checkpoints());
  const auto name = fmt::format("step-{:08}", kSavedAt);
  fs::rename(first.checkpoints() / name, second.checkpoints() / name);
  const auto rest = finish(second, "the second layout");
  if (numbers_of(rest, "step", "loss").begin()->first != kSavedAt + 1)
    throw std::runtime_error("the second layout does not go on from the checkpoint");
  if (rest.event("evaluation").is_null()) throw std::runtime_error("nothing is evaluated");

  const auto reference = newest(one), saved = newest(first), resumed = newest(second);
  outcome_.single = compare(whole, saved, wanted, reference);
  outcome_.resumed = compare(rest, resumed, whole, saved);
  outcome_.is_exported = export_both(saved, resumed);
  check(outcome_.single, asked_.is_exact() ? kExact : kRounded, "against one process");
  check(outcome_.resumed, asked_.is_exact() ? kExact : kRounded, "after loading, against no stop");
}

}  // namespace orch::test

#include "backends/runtime/loop/events.h"

#include <nlohmann/json.hpp>

#include "core/base/clock.h"

namespace orch::train {
namespace {

using Json = nlohmann::ordered_json;

// Whatever a message holds becomes UTF-8; NaN and infinity become null.
std::string line(const char* event, const Json& fields) {
  Json json{{"event", event}, {"time", SystemClock().now()}};
  json.update(fields);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Events::Events(const fs::path& attempt) : file_(attempt / "events.jsonl") {}

void Events::start(const StartEvent& from) {
  write(line("start", {{"ranks", from.ranks},
                       {"device", from.device},
                       {"torch", from.torch},
                       {"parameters", from.parameters},
                       {"effective", from.effective}}));
}

void Events::step(const StepEvent& from) {
  Json json{{"step", from.step},
            {"loss", from.loss},
            {"step_seconds", from.step_seconds},
            {"tokens", from.tokens},
            {"tokens_per_second", from.tokens_per_second},
            {"peak_memory_bytes", from.peak_memory_bytes},
            {"gradient_norm", from.gradient_norm},
            {"learning_rate", from.learning_rate},
            {"loss_scale", from.loss_scale},
            {"skipped", from.skipped},
            {"communicated_bytes", from.communicated_bytes}};
  if (from.bubble) json["bubble"] = *from.bubble;
  write(line("step", json));
}

void Events::evaluation(std::int64_t step, double loss) {
  write(line("evaluation", {{"step", step}, {"loss", loss}}));
}

void Events::checkpoint(std::int64_t step) { write(line("checkpoint", {{"step", step}})); }

void Events::checkpoint_failed(std::int64_t step, const std::string& message) {
  write(line("checkpoint_failed", {{"step", step}, {"message", message}}));
}

void Events::profile(std::int64_t step, const std::map<std::string, double>& time_items,
                     const std::map<std::string, double>& memory_items) {
  write(line("profile",
             {{"step", step}, {"time_items", time_items}, {"memory_items", memory_items}}));
}

void Events::failed(const std::string& kind, const std::string& message) {
  write(line("failed", {{"class", kind}, {"message", message}}));
}

void Events::end(std::int64_t step) { write(line("end", {{"step", step}})); }

// After half a line a new one begins, so that only one is lost.
void Events::write(const std::string& line) {
  if (!file_.write(torn_.exchange(false) ? "\n" + line : line)) torn_ = true;
}

}  // namespace orch::train

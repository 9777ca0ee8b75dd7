#include "backends/runtime/loop/events.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace orch::train {
namespace {

using Json = nlohmann::ordered_json;

Json event(const char* name) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {{"event", name}, {"time", std::chrono::duration<double>(now).count()}};
}

// Whatever a message holds becomes UTF-8; NaN and infinity become null.
std::string line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Events::Events(const fs::path& attempt) : file_(attempt / "events.jsonl") {}

void Events::start(const StartEvent& from) {
  auto json = event("start");
  json["ranks"] = from.ranks;
  json["device"] = from.device;
  json["torch"] = from.torch;
  json["parameters"] = from.parameters;
  json["effective"] = from.effective;
  write(line(json));
}

void Events::step(const StepEvent& from) {
  auto json = event("step");
  json["step"] = from.step;
  json["loss"] = from.loss;
  json["step_seconds"] = from.step_seconds;
  json["tokens"] = from.tokens;
  json["tokens_per_second"] = from.tokens_per_second;
  json["peak_memory_bytes"] = from.peak_memory_bytes;
  json["gradient_norm"] = from.gradient_norm;
  json["learning_rate"] = from.learning_rate;
  json["loss_scale"] = from.loss_scale;
  json["skipped"] = from.skipped;
  json["communicated_bytes"] = from.communicated_bytes;
  if (from.bubble) json["bubble"] = *from.bubble;
  write(line(json));
}

void Events::evaluation(std::int64_t step, double loss) {
  auto json = event("evaluation");
  json["step"] = step;
  json["loss"] = loss;
  write(line(json));
}

void Events::checkpoint(std::int64_t step) {
  auto json = event("checkpoint");
  json["step"] = step;
  write(line(json));
}

void Events::checkpoint_failed(std::int64_t step, const std::string& message) {
  auto json = event("checkpoint_failed");
  json["step"] = step;
  json["message"] = message;
  write(line(json));
}

void Events::profile(std::int64_t step, const std::map<std::string, double>& time_items,
                     const std::map<std::string, double>& memory_items) {
  auto json = event("profile");
  json["step"] = step;
  json["time_items"] = time_items;
  json["memory_items"] = memory_items;
  write(line(json));
}

void Events::failed(const std::string& kind, const std::string& message) {
  auto json = event("failed");
  json["class"] = kind;
  json["message"] = message;
  write(line(json));
}

void Events::end(std::int64_t step) {
  auto json = event("end");
  json["step"] = step;
  write(line(json));
}

// After half a line a new one begins, so that only one is lost.
void Events::write(const std::string& line) {
  if (!file_.write(torn_.exchange(false) ? "\n" + line : line)) torn_ = true;
}

}  // namespace orch::train

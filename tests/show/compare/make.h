#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/text.h"
#include "core/show/compare/compare.h"
#include "core/show/findings/compared.h"
#include "tests/text.h"

namespace orch::compare {

inline std::int64_t whole(int value) { return value; }

// A run on 8 GPUs with 64 sequences of 1024 tokens, which is 65,536 tokens per step.
inline record::Record run(const std::string& id) {
  record::Record out;
  out.id = id;
  out.state = record::RunState::finished;
  out.set("strategy", std::string("deepspeed"));
  out.set("gpus", whole(8));
  out.set("data_parallel", whole(8));
  out.set("layers", whole(24));
  out.set("hidden", whole(2048));
  out.set("vocab", whole(50304));
  out.set("seq", whole(1024));
  out.set("micro_batch", whole(4));
  out.set("accumulate", whole(2));
  out.set("global_batch", whole(64));
  out.set("zero_stage", whole(1));
  return out;
}

inline record::Record run(const std::string& id, double seconds, double low, double high) {
  auto out = run(id);
  out.measured.step_seconds = statistics::Interval{seconds, low, high, 100};
  return out;
}

inline record::Record run(const std::string& id, double seconds) {
  auto out = run(id);
  out.measured.step_seconds = statistics::Interval{seconds, std::nullopt, std::nullopt, 1};
  return out;
}

inline Cohort group(const std::string& name, const record::Record& record) {
  return {name, {&record}};
}

inline const Metric* metric(const Comparison& c, std::string_view name) {
  for (const auto& held : c.metrics)
    if (held.name == name) return &held;
  return nullptr;
}

// The judgement of a group against the first one; the metric has to exist.
inline const Judgement& judgement(const Comparison& c, std::string_view name,
                                  std::size_t group = 1) {
  const auto place = static_cast<std::size_t>(metric(c, name) - c.metrics.data());
  return c.against.at(group - 1).judgements.at(place);
}

inline const Difference* difference(const Comparison& c, std::string_view field) {
  for (const auto& held : c.differences)
    if (held.field == field) return &held;
  return nullptr;
}

inline const Explanation* explanation(const Comparison& c, Aspect aspect, std::size_t group = 1) {
  for (const auto& held : c.against.at(group - 1).explanations)
    if (held.aspect == aspect) return &held;
  return nullptr;
}

inline std::string text_of(const Comparison& c, std::string_view name, std::size_t group = 1) {
  return findings::judgement_text(c, judgement(c, name, group), *metric(c, name), group);
}

inline std::string answer(const Comparison& c, std::size_t group = 1) {
  const auto& against = c.against.at(group - 1);
  return findings::answer_text(c, against) + "\n" + findings::sure_text(c, against);
}

inline std::string causes_text(const Comparison& c, std::size_t group = 1) {
  return findings::causes_text(c, c.against.at(group - 1));
}

inline std::string notes(const Comparison& c) { return join(findings::notes(c), "\n"); }

inline bool near(double a, double b, double share = 1e-9) {
  return std::abs(a - b) <= share * std::abs(b);
}

}  // namespace orch::compare

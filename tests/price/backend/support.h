#pragma once

#include "core/plan/family.h"
#include "core/price/backend/backend.h"
#include "core/price/backend/ops.h"
#include "tests/test.h"
#include "tests/text.h"

namespace orch::test {

inline const backend::Backends& built_in() {
  static const auto loaded = backend::Backends::load({fs::path(ORCH_BINARY_DIR) / "plugins"});
  if (!loaded) FAIL(text(loaded.error()));
  return *loaded;
}

using SettingValues = std::map<std::string, plan::Value>;

inline plan::Value word(const char* text) { return std::string(text); }
inline plan::Value number(std::int64_t value) { return value; }

// A run of one of the built-in strategies on nodes of 8, with defaults for everything else.
inline plan::Run make_run(const std::string& strategy, const plan::Model& model,
                          const plan::Layout& layout, std::int64_t micro_batch,
                          std::int64_t accumulate, const SettingValues& settings = {}) {
  plan::Run run;
  for (const auto& candidate : built_in().strategies())
    if (candidate->name == strategy) run.strategy = candidate;
  REQUIRE(run.strategy);
  for (const auto& param : run.strategy->params) {
    const auto found = settings.find(param.name);
    run.settings.push_back(found == settings.end() ? param.default_value : found->second);
  }
  run.model = model;
  run.layout = layout;
  run.gpus = layout.ranks();
  run.nodes = (run.gpus + 7) / 8;
  static const plan::Partition node = [] {
    plan::Partition partition;
    partition.gpus_per_node = 8;
    return partition;
  }();
  run.partition = &node;
  run.batch = {micro_batch, accumulate, micro_batch * accumulate * layout.data_parallel, {}};
  return run;
}

inline backend::Work work_of(const plan::Run& run) {
  backend::Work work;
  const auto status = built_in().of(*run.strategy).work(run, backend::WorkTexts::formulas, work);
  if (!status) FAIL(text(status.error()));
  return work;
}

inline void check_same_memory(const backend::Work& fit, const backend::Work& work) {
  CHECK(fit.stages == work.stages);
  CHECK(fit.ops.empty());
  const auto item = [](const backend::Memory& each) {
    return std::tuple(each.place, each.first, each.last, each.bytes);
  };
  CHECK(std::ranges::equal(fit.memory, work.memory, {}, item, item));
}

struct ReportedProblems {
  std::vector<Error> reasons, warnings;
};

inline ReportedProblems problems_of(const plan::Run& run) {
  ReportedProblems problems;
  const auto& backend = built_in().of(*run.strategy);
  backend.check(run, problems.reasons, problems.warnings);
  // A search finds the same problems, and the memory that is in the work.
  backend::ProblemTally tally;
  backend::Work fit;
  CHECK(backend.fit(backend.abi_run(run), tally, fit));
  // Behind a reason it may stop.
  REQUIRE((tally.reasons > 0) == !problems.reasons.empty());
  if (tally.reasons > 0) {
    CHECK(tally.reason == problems.reasons.front().place);
    return problems;
  }
  CHECK(tally.warnings == problems.warnings.size());
  if (tally.warnings > 0) CHECK(tally.warning == problems.warnings.front().place);
  check_same_memory(fit, work_of(run));
  return problems;
}

// The first problem with a field; the test fails if there is none.
inline Error about(const std::vector<Error>& problems, const std::string& field) {
  for (const auto& problem : problems)
    if (problem.place == field) return problem;
  FAIL("no problem with " + field + " in:\n" + text(problems));
  return {};
}

inline const backend::Block& block(const backend::Work& work, const std::string& name) {
  for (const auto& candidate : work.blocks)
    if (candidate.name == name) return candidate;
  FAIL("no block " + name);
  return work.blocks.front();
}

inline const backend::Op* find_op(const backend::Work& work, const std::string& block_name,
                                  const std::string& name) {
  const auto& in = block(work, block_name);
  for (std::size_t i = in.first_op; i < in.first_op + in.n_ops; ++i)
    if (work.ops[i].name == name) return &work.ops[i];
  return nullptr;
}

inline const orch_op& op(const backend::Work& work, const std::string& block_name,
                         const std::string& name) {
  const auto* found = find_op(work, block_name, name);
  if (!found) FAIL("no op " + name + " in " + block_name);
  return found->data;
}

// Bytes of all memory items of a stage whose names have this prefix.
inline double memory(const backend::Work& work, std::int64_t stage, const std::string& start,
                     std::uint32_t place = ORCH_DEVICE) {
  double bytes = 0;
  for (const auto& item : work.memory)
    if ((item.place == place || (place == ORCH_DEVICE && item.place == ORCH_SETTLED)) &&
        item.first <= stage && stage <= item.last && item.name.starts_with(start))
      bytes += item.bytes;
  return bytes;
}

// The 104B model of the Jean Zay notes.
inline plan::Model model_104b() { return plan::sized("gpt", "104b", 64, 11600, 80, 50257, 2048); }

}  // namespace orch::test

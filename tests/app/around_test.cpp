// The parts of a plan's answer beyond the listed runs; each proposal is planned again as written.

#include <regex>

#include "tests/app/desk.h"

using namespace orch;
using app::Exit;

namespace {

fs::path written(const Desk& desk, const std::string& model, int nodes,
                 const std::string& strategies) {
  return desk.file("x.lua",
                   "return experiment { name = \"x\", model = \"" + model +
                       "\", hardware = { cluster = \"dgx-h100\", nodes = " + std::to_string(nodes) +
                       " }, batch = { global_batch = 512 }, tokens = 1e12, strategies = { " +
                       strategies + " } }");
}

nlohmann::json plan_json(const Desk& desk, const fs::path& file, const std::string& where = {}) {
  app::PlanArguments asked;
  asked.source.file = file;
  asked.common.format = "json";
  asked.where = where;
  return desk(app::plan_command, asked).json();
}

// The settings in "a = 1, b = 'x' and c = true" of a sentence, in Lua's syntax.
std::string settings_of(const std::string& sentence, const char* before) {
  std::smatch found;
  REQUIRE(std::regex_search(sentence, found, std::regex(std::string(before) + "(.*?)[.:]( |$)")));
  return std::regex_replace(found[1].str(), std::regex(" and "), ", ");
}

}  // namespace

TEST_CASE("Llama 3 8B on 32 H100, with every strategy as it comes, has an answer", "[app][plan]") {
  const Desk desk;
  const auto file = written(desk, "llama-3-8b", 4,
                            "megatron {}, fsdp {}, deepspeed { stage = 3 }, zero3 {}, ddp {}");
  const auto found = plan_json(desk, file);
  REQUIRE(found["runs"].size() == 5);
  CHECK(found["runs"][0]["fit"] == "fits");
  const auto best = finding(found, "answer");
  CAPTURE(best);
  CHECK(best.find(" on 32 GPUs is best: 1T tokens in ") != best.npos);
  for (const auto& run : found["runs"]) CHECK(run["flash_attention"] == true);
}

TEST_CASE("where nothing fits, the nearest change that does is named", "[app][around]") {
  const Desk desk;
  const auto found = plan_json(desk, written(desk, "llama-3-8b", 4, "megatron {}, ddp {}"));
  const auto best = finding(found, "answer");
  CAPTURE(best);
  CHECK(best.starts_with("nothing fits as it is: the closest, megatron "));
  const auto said = settings_of(best, "megatron fits with ");
  CHECK(said.find("zero_stage = 1") != said.npos);
  CHECK(said.find("offload") == said.npos);
  const auto again =
      plan_json(desk, written(desk, "llama-3-8b", 4, "megatron { " + said + " }"))["runs"][0];
  CHECK(again["fit"] != "oom");
  const auto days = again["days_to_train"].get<double>();
  CHECK(best.find(fmt::format("in {:.1f} days", days)) != best.npos);
}

TEST_CASE("where no setting helps, more GPUs do", "[app][around]") {
  const Desk desk;
  const auto file = written(desk, "llama-3.1-405b", 1,
                            "ddp { flash_attention = true }, megatron { tensor_parallel = 8 }");
  const auto best = finding(plan_json(desk, file), "answer");
  CAPTURE(best);
  CHECK(best.find("megatron fits with nodes = 3, ") != best.npos);
}

TEST_CASE("a strategy that is faster than listed is told with its settings", "[app][around]") {
  const Desk desk;
  const char* slow = "fsdp { flash_attention = true, recompute = \"full\" }";
  const auto file = written(desk, "llama-3-8b", 4, slow);
  const auto found = plan_json(desk, file);
  const auto nearby = finding(found, "nearby");
  CAPTURE(nearby);
  REQUIRE(nearby.starts_with("fsdp reaches "));
  const auto said = settings_of(nearby, " with ");
  const auto again = plan_json(
      desk,
      written(desk, "llama-3-8b", 4, "fsdp { flash_attention = true, " + said + " }"))["runs"][0];
  const auto days = again["days_to_train"].get<double>();
  CHECK(days * 1.1 < found["runs"][0]["days_to_train"].get<double>());
  CHECK(nearby.find(fmt::format("reaches {:.3g} days", days)) != nearby.npos);
  // Settings that were left out on purpose are not proposed.
  CHECK(finding(plan_json(desk, written(desk, "llama-3-8b", 4, slow), "micro_batch == 1"), "nearby")
            .empty());
}

// 64 samples are not 1,024: a run with another batch is not a better one.
TEST_CASE("another batch is another training, and no change to propose", "[app][around]") {
  const Desk desk;
  const auto file = desk.file("x.lua", R"(return experiment { name = "x", tokens = 1e10,
    model = gpt { layers = 32, hidden = 3328, heads = 32, seq = 2048, vocab = 80000 },
    hardware = { cluster = "jean-zay", partition = "a100-80g", gpus = 64 },
    batch = { zip { global_batch = { 64, 1024 }, micro_batch = { 1, 16 } } },
    strategies = { ddp { recompute = "full", flash_attention = true } } })");
  const auto found = plan_json(desk, file);
  REQUIRE(found["runs"].size() == 2);
  const auto nearby = finding(found, "nearby");
  CAPTURE(nearby);
  CHECK(nearby.empty());
}

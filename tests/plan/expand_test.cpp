#include "core/plan/expand.h"

#include "tests/plan/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::plan;

TEST_CASE("lists multiply and what follows is filled in", "[plan][expand]") {
  auto asked = test::experiment();
  asked.batch.axes = {test::axis("global_batch", {std::int64_t{3072}})};
  asked.strategies[0].space.axes = {
      test::axis("tensor_parallel", {std::int64_t{4}, std::int64_t{8}}),
      test::axis("micro_batch", {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}})};
  const auto plan = test::expand(asked);
  REQUIRE(plan.runs.size() == 6);
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const auto& run : plan.runs) {
    seen.insert({run.layout.tensor_parallel, run.batch.micro_batch});
    CHECK(run.layout.data_parallel == 384 / run.layout.tensor_parallel);
    CHECK(run.batch.accumulate * run.batch.micro_batch * run.layout.data_parallel == 3072);
    CHECK(run.nodes == 48);
  }
  CHECK(seen.size() == 6);
}

TEST_CASE("points of one axis go together", "[plan][expand]") {
  auto asked = test::experiment();
  asked.strategies[0].space.axes = {
      {{"tensor_parallel", "pipeline_parallel"},
       {{std::int64_t{4}, std::int64_t{12}}, {std::int64_t{8}, std::int64_t{6}}}}};
  const auto plan = test::expand(asked);
  REQUIRE(plan.runs.size() == 2);
  CHECK(plan.runs[0].layout == Layout{4, 12, 8});
  CHECK(plan.runs[1].layout == Layout{8, 6, 8});
}

TEST_CASE("a function sees other fields, derived ones too", "[plan][expand]") {
  auto asked = test::experiment();
  const auto integer = [](const Lookup& lookup, const char* field) {
    return std::get<std::int64_t>(*lookup(field));
  };
  asked.batch.derived = {{"accumulate", [&](const Lookup& r) -> Result<Value> {
                            return Value(8 * integer(r, "pipeline_parallel"));
                          }}};
  asked.models[0].space.derived = {{"layers", [&](const Lookup& r) -> Result<Value> {
                                      return Value(integer(r, "accumulate") / 4);
                                    }}};
  asked.strategies[0].space.axes = {
      test::axis("pipeline_parallel", {std::int64_t{2}, std::int64_t{4}})};
  const auto plan = test::expand(asked);
  REQUIRE(plan.runs.size() == 2);
  CHECK(plan.runs[1].batch.accumulate == 32);
  CHECK(plan.runs[1].model.layers == 8);
  CHECK(plan.runs[1].batch.global_batch == 32 * 96);
}

TEST_CASE("functions that need each other reject the run", "[plan][expand]") {
  auto asked = test::experiment();
  const auto same_as = [](const char* field) {
    return [field](const Lookup& lookup) { return lookup(field); };
  };
  asked.batch.derived = {{"micro_batch", same_as("accumulate")},
                         {"accumulate", same_as("micro_batch")}};
  const auto plan = test::expand(asked);
  REQUIRE(plan.rejected.size() == 1);
  CHECK(plan.rejected[0].reasons[0].fact.find("depends on itself") == 0);
}

TEST_CASE("functions that fail are told in one order, whatever the compiler", "[plan][expand]") {
  auto asked = test::experiment();
  asked.hardware.axes.pop_back();  // the GPUs follow from the three below
  const auto failing = [](const char* fact) {
    return [fact](const Lookup&) -> Result<Value> { return Error{"toy.lua", fact, ""}; };
  };
  asked.batch.derived = {{"data_parallel", failing("first")}};
  asked.strategies[0].space.derived = {{"tensor_parallel", failing("second")},
                                       {"pipeline_parallel", failing("third")}};
  const auto plan = test::expand(asked);
  REQUIRE(plan.rejected.size() == 1);
  std::vector<std::string> facts;
  for (const auto& reason : plan.rejected[0].reasons)
    if (reason.place == "toy.lua") facts.push_back(reason.fact);
  CHECK(facts == std::vector<std::string>{"first", "second", "third"});
}

TEST_CASE("a strategy's own value shadows the batch's, without doubling runs", "[plan][expand]") {
  auto asked = test::experiment();
  asked.batch.axes = {test::axis("micro_batch", {std::int64_t{1}, std::int64_t{2}})};
  asked.strategies[0].space.axes = {test::axis("micro_batch", {std::int64_t{4}})};
  const auto plan = test::expand(asked);
  REQUIRE(plan.runs.size() == 1);
  CHECK(plan.runs[0].batch.micro_batch == 4);
}

TEST_CASE("a constraint rejects with its name and reason", "[plan][expand]") {
  auto asked = test::experiment();
  asked.constraints = {
      {"enough", [](const Lookup&) -> Result<std::string> { return std::string("too few"); }}};
  const auto plan = test::expand(asked);
  REQUIRE(plan.rejected.size() == 1);
  CHECK(plan.rejected[0].reasons[0].text() == "constraint 'enough': too few");
}

TEST_CASE("a sweep of a billion runs is refused with its count", "[plan][expand]") {
  auto asked = test::experiment();
  std::vector<Value> thousand;
  for (std::int64_t i = 1; i <= 1000; ++i) thousand.emplace_back(i);
  asked.strategies[0].space.axes = {test::axis("tensor_parallel", thousand),
                                    test::axis("pipeline_parallel", thousand),
                                    test::axis("micro_batch", thousand)};
  CHECK(combinations(asked) == 1e9);
  const auto plan = plan::expand(
      asked,
      [](std::string_view) { return Result<std::shared_ptr<const Cluster>>(test::cluster()); },
      [](const Run&, std::vector<Error>&, std::vector<Error>&) {});
  REQUIRE_FALSE(plan);
  CHECK(plan.error().front().fact == "the lists multiply to 1,000,000,000 runs, more than 200,000");
}

TEST_CASE("the experiment's words to SLURM go over the site's", "[plan][expand]") {
  auto asked = test::experiment();
  asked.job.account = "mine";
  const auto plan = test::expand(asked);
  CHECK(plan.runs[0].job.account == "mine");
  CHECK(plan.runs[0].job.time == "20:00:00");
}

TEST_CASE("an experiment can do without the site's spare nodes", "[plan][expand]") {
  auto site = *test::cluster();
  site.partitions[0].slurm.spare_nodes = 2;
  const auto find = [&](std::string_view) {
    return Result<std::shared_ptr<const Cluster>>(std::make_shared<const Cluster>(site));
  };
  auto asked = test::experiment();
  const auto spare = [&] {
    const auto plan =
        plan::expand(asked, find, [](const Run&, std::vector<Error>&, std::vector<Error>&) {});
    return plan->runs.at(0).job.spare_nodes;
  };
  CHECK(spare() == 2);
  asked.job.spare_nodes = 0;
  CHECK(spare() == 0);
}

TEST_CASE("strict turns warnings into reasons", "[plan][expand]") {
  auto asked = test::experiment();
  asked.batch.axes = {test::axis("tokens", {1000.0})};  // less than a step
  CHECK(test::expand(asked).runs.size() == 1);
  asked.strict = true;
  CHECK(test::expand(asked).rejected.size() == 1);
}

#include "core/price/search/search.h"

#include "core/plan/run_json.h"
#include "core/plan/stack.h"
#include "tests/price/search/support.h"

// A search is compared with a plan of the same experiment whose lists contain every number from one
// on: there the checks alone decide what is valid.

using namespace orch;
using namespace orch::search;
using namespace orch::search::test;

namespace {

const std::string kHead = R"(
local function upto(n) local list = {}; for i = 1, n do list[i] = i end; return list end
return experiment {
  model = gpt { layers = 8, hidden = 4096, heads = 4, vocab = 51200, seq = 2048 },
  hardware = { cluster = "dgx-a100", gpus = 8 },
)";
const std::string kBatch = "batch = { global_batch = 8 }, ";
const std::string kAll = R"(
  strategies = { megatron {
    tensor_parallel = upto(5), pipeline_parallel = upto(8), micro_batch = upto(8),
    interleave = upto(5), stage_partition = { "uniform", "transformer|embedding" },
    sequence_parallel = { false, true }, recompute = { "full", "selective", "none" },
    zero_stage = { 0, 1 }, offload = { "none", "optimizer" } } },
)";

using FrontPoint = std::tuple<double, double>;  // days, memory

// The points that no other one beats: every pair is compared.
std::set<FrontPoint> front_of(const std::vector<FrontPoint>& points) {
  std::set<FrontPoint> front;
  for (const auto& [days, memory] : points) {
    bool beaten = false;
    for (const auto& [other_days, other_memory] : points)
      beaten |= other_days <= days && other_memory <= memory &&
                (other_days < days || other_memory < memory);
    if (!beaten) front.insert({days, memory});
  }
  return front;
}

// The results, if there is only one question.
const ResultLists& only(const SearchResult& found) {
  REQUIRE(found.questions.size() == 1);
  return found.questions.front();
}

std::vector<FrontPoint> points_of(const std::vector<SearchBench::Priced>& priced) {
  std::vector<FrontPoint> points;
  for (const auto& [run, estimate] : priced)
    points.emplace_back(estimate.days_to_train, estimate.peak_memory);
  return points;
}

std::set<FrontPoint> points_of(const std::vector<RunScore>& scores) {
  std::set<FrontPoint> points;
  for (const auto& score : scores) points.insert({score.days, score.memory});
  return points;
}

// The best of each layout, ascending.
template <class Value>
std::vector<double> best_by_layout(const std::vector<SearchBench::Priced>& priced, Value value) {
  std::map<decltype(layout_of(priced.front().run)), double> best;
  for (const auto& [run, estimate] : priced) {
    const auto [place, fresh] = best.try_emplace(layout_of(run), value(estimate));
    if (!fresh) place->second = std::min(place->second, value(estimate));
  }
  std::vector<double> values;
  for (const auto& [layout, least] : best) values.push_back(least);
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<double> days_of(const std::vector<RunScore>& scores) {
  std::vector<double> days;
  for (const auto& score : scores) days.push_back(score.days);
  return days;
}

void compare(SearchBench& bench, const std::string& searched, const std::string& listed) {
  const auto priced = bench.plan(listed);
  REQUIRE(priced.size() > 10);
  const auto experiment = bench.parse(searched);
  const auto space = bench.space(experiment);
  const auto found = bench.search(*space);
  CHECK(found.complete);
  CHECK(found.evaluated == found.space);
  CHECK(found.rejected + found.oom + found.fitting == found.space);
  if (experiment.constraints.empty()) CHECK(found.fitting == static_cast<double>(priced.size()));
  CHECK(days_of(only(found).fastest) ==
        best_by_layout(priced, [](const auto& e) { return e.days_to_train; }));
  double least = 1e30;
  for (const auto& [run, estimate] : priced)
    if (estimate.days_to_train <= 2 * only(found).fastest.front().days)
      least = std::min(least, estimate.peak_memory);
  CHECK(only(found).roomiest.front().memory == least);
  const auto hours = best_by_layout(priced, [](const auto& e) { return e.gpu_hours; });
  CHECK(only(found).cheapest.front().gpu_hours == hours.front());
  CHECK(points_of(only(found).front) == front_of(points_of(priced)));
  CHECK(points_of(only(found).front).size() == only(found).front.size());
  // Each place leads back to the run that was scored.
  for (const auto& score : only(found).front) {
    const auto estimate = bench.price(bench.at(*space, score));
    CHECK(estimate.days_to_train == score.days);
    CHECK(estimate.peak_memory == score.memory);
  }
}

}  // namespace

TEST_CASE("the best and the front are those of all combinations", "[search]") {
  SearchBench bench;
  const auto end = "}";
  const auto own = "strategies = { megatron {} }, ";
  compare(bench, kHead + kBatch + own + end, kHead + kBatch + kAll + end);
}

TEST_CASE("constraints of the experiment hold for what is found", "[search]") {
  SearchBench bench;
  const std::string rule = R"(constraints = {
      narrow = function(r) return r.tensor_parallel <= 2 end,
      kept = function(r) return r.recompute ~= "none" or "no" end } })";
  const auto own = "strategies = { megatron {} }, ";
  compare(bench, kHead + kBatch + own + rule, kHead + kBatch + kAll + rule);
  // One that asks for no setting, but for what follows from the layout.
  const std::string of_layout = R"(constraints = {
      few = function(r) return r.data_parallel * r.micro_batch <= 4 end } })";
  compare(bench, kHead + kBatch + own + of_layout, kHead + kBatch + kAll + of_layout);
}

TEST_CASE("functions of the experiment see the layout of the moment", "[search]") {
  SearchBench bench;
  const std::string function =
      "fp32_accumulate = function(r) return r.zero_stage == 1 and "
      "r.tensor_parallel > 1 end";
  auto listed = kAll;
  listed.replace(listed.find("zero_stage"), 0, function + ", ");
  compare(bench, kHead + kBatch + "strategies = { megatron { " + function + " } } }",
          kHead + kBatch + listed + "}");
}

TEST_CASE("a function may ask for what must be given", "[search]") {
  SearchBench bench;
  const auto experiment = bench.parse(
      "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', gpus = 8 }, "
      "batch = { global_batch = function(r) return 8 * r.gpus + 0 * r.stage end }, strategies = { "
      "deepspeed { stage = 2, prefetch = function(r) return r.stage end } } }");
  const auto space = bench.space(experiment);
  const auto found = bench.search(*space);
  // Tensor parallel 1, 2, 4, 8 with 4, 5, 6, 7 micro-batches; 3 stages, 3 offloads, 3
  // recomputations.
  CHECK(found.space == (4 + 5 + 6 + 7) * 27);
  REQUIRE_FALSE(only(found).front.empty());
  for (const auto& score : only(found).front) {
    const auto run = bench.at(*space, score);
    CHECK(run.batch.global_batch == 64);
    CHECK(run.setting("prefetch") == run.setting("stage"));
  }
}

TEST_CASE("a search of several strategies, GPU counts and lists", "[search]") {
  SearchBench bench;
  const auto head = [](const std::string& strategies) {
    return "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', gpus = { 8, "
           "16 } }, batch = { global_batch = 64 }, strategies = { " +
           strategies + " } }";
  };
  const auto priced = bench.plan(head(R"(
      deepspeed { stage = { 1, 2, 3 }, offload = { "none", "optimizer", "full" },
                  recompute = { "none", "full", "selective" }, prefetch = { 0, 1 },
                  tensor_parallel = { 1, 2, 4, 8, 16 }, micro_batch = { 1, 2, 4, 8, 16, 32, 64 } },
      ddp { recompute = { "none", "full", "selective" }, micro_batch = { 1, 2, 4, 8 } })"));
  const auto experiment =
      bench.parse(head("deepspeed { stage = 1, prefetch = { 0, 1 } }, deepspeed { stage = 3, "
                       "prefetch = { 0, 1 } }, ddp {}"));
  const auto space = bench.space(experiment);
  CHECK(space->parts().size() == 2);  // the two deepspeeds differ in open fields only
  const auto found = bench.search(*space);
  // Micro-batches 1, 2, 4, 8 on 8 GPUs and 1, 2, 4 on 16, each tensor parallel leaving one more; 3
  // stages, 3 offloads, 3 recomputations, 2 prefetches.
  CHECK(found.space == (4 + 5 + 6 + 7 + 3 + 4 + 5 + 6 + 7) * 3 * 3 * 3 * 2 + (4 + 3) * 3);

  // Days, memory and GPU-hours: no point of the front is beaten in all three.
  using Triple = std::tuple<double, double, double>;
  std::set<Triple> expected;
  for (const auto& [run, e] : priced) {
    bool beaten = false;
    for (const auto& [other, o] : priced)
      beaten |= o.days_to_train <= e.days_to_train && o.peak_memory <= e.peak_memory &&
                o.gpu_hours <= e.gpu_hours &&
                (o.days_to_train < e.days_to_train || o.peak_memory < e.peak_memory ||
                 o.gpu_hours < e.gpu_hours);
    if (!beaten) expected.insert({e.days_to_train, e.peak_memory, e.gpu_hours});
  }
  std::set<Triple> actual;
  for (const auto& score : only(found).front)
    actual.insert({score.days, score.memory, score.gpu_hours});
  CHECK(actual == expected);
}

TEST_CASE("the fastest of each strategy is found, however slow it is", "[search]") {
  SearchBench bench;
  const auto head = [](const std::string& strategies) {
    return "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', gpus = 16 "
           "}, "
           "batch = { global_batch = 32 }, strategies = { " +
           strategies + " } }";
  };
  const auto experiment = bench.parse(head("megatron {}, ddp {}, zero3 {}"));
  const auto space = bench.space(experiment);
  const auto found = bench.search(*space);
  REQUIRE(only(found).strategies.size() == 3);
  std::map<std::string, double> best;
  for (const auto& score : only(found).strategies)
    best[bench.at(*space, score).strategy->name] = score.days;
  CHECK(only(found).strategies.front().days == only(found).fastest.front().days);
  for (const auto* name : {"ddp", "zero3"}) {
    const auto alone = bench.parse(head(std::string(name) + " {}"));
    const auto small = bench.space(alone);
    CHECK(best.at(name) == only(bench.search(*small)).fastest.front().days);
  }
}

// Nine of ten measurements lie within 1.645 standard deviations of a logarithm: two estimates of
// the same spread overlap where their ratio is below the square of what that makes.
TEST_CASE("ties are the layouts whose ranges overlap with the best's", "[search]") {
  SearchBench bench;
  const auto experiment = bench.parse(kHead + kBatch + "strategies = { megatron {} } }");
  const auto space = bench.space(experiment);
  const auto found = bench.search(*space);
  const auto best = bench.at(*space, only(found).fastest.front());
  const auto& at = plan::priced_at(best);
  const double reach = std::exp(2 * 1.645 * at.efficiency.time_spread.value);
  std::size_t expected = 0;
  for (const auto& score : only(found).fastest)
    expected += score.days <= reach * only(found).fastest.front().days;
  CHECK(ties(only(found).fastest) == expected - 1);
  CHECK(expected > 1);
  CHECK(expected < only(found).fastest.size());
}

TEST_CASE("a ramp-up on fewer nodes takes as long as a plan says", "[search]") {
  SearchBench bench;
  const auto head = [](const std::string& settings) {
    return "return experiment { model = gpt { layers = 8, hidden = 4096, heads = 4, vocab = 51200, "
           "seq = 2048 }, hardware = { cluster = 'dgx-a100', gpus = 32 }, batch = { global_batch = "
           "32, rampup = { start = 4, step = 4, samples = 1000000, fewer_nodes = true } }, tokens "
           "= 10e9, strategies = { megatron { " +
           settings + " } } }";
  };
  const auto own = head("zero_stage = { 0, 1 }");
  compare(bench, own, head(R"(tensor_parallel = { 1, 2, 4 }, pipeline_parallel = { 1, 2, 4, 8 },
      micro_batch = { 1, 2, 4, 8, 16, 32 }, interleave = { 1, 2, 4 },
      stage_partition = { "uniform", "transformer|embedding" }, sequence_parallel = { false, true },
      recompute = { "full", "selective", "none" }, zero_stage = { 0, 1 },
      offload = { "none", "optimizer" })"));
  // The costs of the full layout alone would be different.
  const auto experiment = bench.parse(own);
  const auto space = bench.space(experiment);
  const auto found = bench.search(*space);
  bool other = false;
  for (const auto& score : only(found).fastest)
    other |= bench.price(bench.at(*space, score), false).days_to_train != score.days;
  CHECK(other);
}

TEST_CASE("a deadline counts on the calendar", "[search]") {
  SearchBench bench;
  const auto with = [&](const std::string& limits) {
    return bench.parse(
        "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', gpus = 8 }, "
        "batch = { global_batch = 64 }, tokens = 100e9, strategies = { ddp {} }, " +
        limits + " }");
  };
  const auto free = with("");
  const auto free_space = bench.space(free);
  const auto days = only(bench.search(*free_space)).fastest.front().days;
  const auto limit = "budget = { deadline_days = " + std::to_string(1.5 * days) + " }, ";
  const auto always = with(limit), half = with(limit + "availability = 0.5");
  CHECK(bench.search(*bench.space(always)).keeps_budget());
  CHECK_FALSE(bench.search(*bench.space(half)).keeps_budget());
}

TEST_CASE("the number of threads does not change what is found", "[search]") {
  SearchBench bench;
  const auto experiment =
      bench.parse(kHead + kBatch +
                  "strategies = { megatron {}, fsdp {} }, constraints = { odd = "
                  "function(r) return r.micro_batch ~= 2 end } }");
  const auto space = bench.space(experiment, {{}, {"flash_attention", "vocab_multiple"}});
  const auto one = bench.search(*space, 1);
  REQUIRE(only(one).fastest.size() > 5);
  for (const unsigned threads : {2u, 3u, 7u}) {
    const auto several = bench.search(*space, threads);
    CHECK(several.evaluated == one.evaluated);
    CHECK(several.rejected == one.rejected);
    CHECK(several.oom == one.oom);
    const auto same = [&](const std::vector<RunScore>& a, const std::vector<RunScore>& b) {
      REQUIRE(a.size() == b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].place.block.ordinal == b[i].place.block.ordinal);
        CHECK(a[i].place.inner == b[i].place.inner);
        CHECK(a[i].days == b[i].days);
      }
    };
    same(only(several).fastest, only(one).fastest);
    same(only(several).cheapest, only(one).cheapest);
    same(only(several).roomiest, only(one).roomiest);
    same(only(several).front, only(one).front);
    for (const auto& [field, reason] : one.reasons) {
      REQUIRE(several.reasons.contains(field));
      CHECK(several.reasons.at(field).count == reason.count);
      CHECK(several.reasons.at(field).example.inner == reason.example.inner);
    }
  }
}

TEST_CASE("of equals the one nearest to the experiment is named", "[search]") {
  SearchBench bench;
  // With one tensor-parallel rank, sequence parallelism has no effect, so both are equal.
  const auto own = "strategies = { megatron { tensor_parallel = 1, sequence_parallel = %s } } }";
  for (const bool said : {false, true}) {
    auto lua = kHead + kBatch + own;
    lua.replace(lua.find("%s"), 2, said ? "true" : "false");
    const auto experiment = bench.parse(lua);
    const auto space = bench.space(experiment, {{"tensor_parallel"}, {}});
    const auto found = bench.search(*space);
    REQUIRE_FALSE(only(found).fastest.empty());
    const auto best = bench.at(*space, only(found).fastest.front());
    CHECK(best.setting("sequence_parallel") == plan::Value(said));
  }
}

TEST_CASE("the best keeps the budget where anything does", "[search]") {
  SearchBench bench;
  const auto with = [&](const std::string& budget) {
    return bench.parse(
        "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', gpus = { 8, 64 "
        "} }, batch = { global_batch = 512 }, tokens = 100e9, " +
        budget + "strategies = { ddp {} } }");
  };
  const auto free = with("");
  const auto free_space = bench.space(free);
  const auto found = bench.search(*free_space);
  const auto& all = only(found);
  const auto fastest = all.fastest.front(), cheapest = all.cheapest.front();
  REQUIRE(cheapest.gpu_hours < fastest.gpu_hours);

  // Between the two: the fastest is too expensive.
  const auto hours = (cheapest.gpu_hours + fastest.gpu_hours) / 2;
  const auto limited = with("budget = { gpu_hours = " + std::to_string(hours) + " }, ");
  const auto limited_space = bench.space(limited);
  const auto within = bench.search(*limited_space);
  CHECK(within.keeps_budget());
  const auto& kept = only(within);
  REQUIRE_FALSE(kept.fastest.empty());
  for (const auto& list : {kept.fastest, kept.cheapest, kept.roomiest, kept.front})
    for (const auto& score : list) CHECK(score.gpu_hours <= hours);
  CHECK(kept.cheapest.front().gpu_hours == cheapest.gpu_hours);

  const auto poor = with("budget = { gpu_hours = 1 }, ");
  const auto poor_space = bench.space(poor);
  const auto none = bench.search(*poor_space);
  CHECK_FALSE(none.keeps_budget());
  CHECK(none.within_budget == 0);
  CHECK(only(none).fastest.front().days == fastest.days);
}

TEST_CASE("what cannot fit is counted, and the nearest is named", "[search]") {
  SearchBench bench;
  const auto experiment = bench.parse(
      "return experiment { model = 'gpt-530b', hardware = { cluster = 'dgx-a100', gpus = 8 }, "
      "batch = { global_batch = 8 }, strategies = { megatron {} } }");
  const auto space = bench.space(experiment);
  const auto found = bench.search(*space);
  CHECK(found.empty());
  CHECK(found.oom > 0);
  CHECK(found.fitting == 0);
  REQUIRE(found.closest.size() == 1);
  CHECK(found.closest.front().headroom < 0);
}

TEST_CASE("a strict experiment lets no warning pass", "[search]") {
  SearchBench bench;
  const auto experiment =
      bench.parse(kHead + kBatch + "strict = true, strategies = { megatron {} } }");
  const auto space = bench.space(experiment);
  const auto found = bench.search(*space);
  REQUIRE_FALSE(only(found).fastest.empty());
  for (const auto& score : only(found).front) CHECK(bench.at(*space, score).warnings.empty());
}

TEST_CASE("an interrupted search gives what it has", "[search]") {
  SearchBench bench;
  const auto experiment = bench.parse(kHead + kBatch + "strategies = { megatron {} } }");
  const auto space = bench.space(experiment, {{}, {"all"}});
  SearchOptions options;
  options.threads = 2;
  int asked = 0, to_count = 0;
  const double size = size_of(*space, [&] { return ++to_count < 0; });
  REQUIRE(size > 1e5);
  // Not while the space is counted, but soon afterwards.
  options.interrupted = [&] { return ++asked > to_count + 1; };
  const auto found = must(search::search(*space, bench.backends, options));
  CHECK_FALSE(found.complete);
  CHECK(found.evaluated < size);
  CHECK(found.rejected + found.oom + found.fitting == found.evaluated);
}

TEST_CASE("only what is accepted is found, and a failure to say so ends the search", "[search]") {
  SearchBench bench;
  const auto experiment = bench.parse(kHead + kBatch + "strategies = { megatron {} } }");
  const auto space = bench.space(experiment);
  SearchOptions options;
  options.accept = [](const plan::Run& run, const plan::Estimate&) -> Result<bool> {
    return run.layout.pipeline_parallel == 4;
  };
  const auto found = must(search::search(*space, bench.backends, options));
  REQUIRE_FALSE(only(found).fastest.empty());
  for (const auto& score : only(found).fastest) CHECK(score.place.block.pipeline_parallel == 4);
  options.accept = [](const plan::Run&, const plan::Estimate&) -> Result<bool> {
    return Error{"--where", "no", ""};
  };
  CHECK_FALSE(search::search(*space, bench.backends, options));
}

// Compared with separate searches for each machine and sequence length.
TEST_CASE("machines and sequence lengths have lists of their own, in the order of a plan",
          "[search]") {
  SearchBench bench;
  const auto text = [](const std::string& cluster, const std::string& seq) {
    return "return experiment { model = preset('gpt-1.3b', { seq = " + seq +
           " }), hardware = { cluster = " + cluster +
           ", gpus = 16 }, batch = { global_batch = 32 }, strategies = { megatron {}, fsdp {} } }";
  };
  const auto both = bench.parse(text("{ 'dgx-h100', 'dgx-a100' }", "{ 4096, 2048 }"));
  const auto space = bench.space(both);
  const auto found = bench.search(*space);
  REQUIRE(found.questions.size() == 4);
  std::size_t at = 0;
  for (const std::string seq : {"2048", "4096"})
    for (const std::string cluster : {"'dgx-h100'", "'dgx-a100'"}) {
      CAPTURE(seq, cluster);
      const auto alone = bench.parse(text(cluster, seq));
      const auto small = bench.space(alone);
      const auto one = bench.search(*small);
      const auto& here = found.questions[at++];
      CHECK(days_of(here.fastest) == days_of(only(one).fastest));
      CHECK(points_of(here.front) == points_of(only(one).front));
      CHECK(days_of(here.strategies) == days_of(only(one).strategies));
    }
}

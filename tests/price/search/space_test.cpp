#include "core/price/search/space.h"

#include "core/price/search/maker.h"
#include "tests/price/search/support.h"

using namespace orch;
using namespace orch::search;
using namespace orch::search::test;

namespace {

std::string written(const std::string& hardware, const std::string& batch,
                    const std::string& strategies, const std::string& more = "") {
  return "return experiment { model = gpt { layers = 12, hidden = 1024, heads = 8, vocab = 50000, "
         "seq = 1024 }, hardware = { cluster = 'dgx-a100', " +
         hardware + " }, batch = { " + batch + " }, strategies = { " + strategies + " }, " + more +
         " }";
}

std::vector<SettingsBlock> blocks_of(const SearchSpace& space) {
  std::vector<SettingsBlock> blocks;
  SpaceCursor cursor(space);
  for (SettingsBlock block; cursor.next(block);) blocks.push_back(block);
  std::sort(blocks.begin(), blocks.end(),
            [](const SettingsBlock& a, const SettingsBlock& b) { return a.ordinal < b.ordinal; });
  for (std::size_t i = 0; i < blocks.size(); ++i) CHECK(blocks[i].ordinal == i);  // each once
  return blocks;
}

double size(SearchBench& bench, const std::string& lua, const OpenFields& opening = {}) {
  const auto parsed = bench.parse(lua);
  return size_of(*bench.space(parsed, opening));
}

}  // namespace

TEST_CASE("layouts are those that divide", "[search]") {
  SearchBench bench;
  const auto parsed = bench.parse(written("gpus = 24", "global_batch = 12", "megatron {}"));
  const auto space = bench.space(parsed);
  std::vector<std::array<std::int64_t, 3>> expected, actual;
  for (std::int64_t tensor = 1; tensor <= 24; ++tensor)
    for (std::int64_t pipeline = 1; pipeline <= 24; ++pipeline)
      for (std::int64_t micro = 1; micro <= 12; ++micro) {
        if (24 % (tensor * pipeline) != 0 || 8 % tensor != 0 || pipeline > 12) continue;
        const auto data = 24 / (tensor * pipeline);
        if (12 % (data * micro) == 0) expected.push_back({tensor, pipeline, micro});
      }
  for (const auto& block : blocks_of(*space))
    actual.push_back({block.tensor_parallel, block.pipeline_parallel, block.micro_batch});
  CHECK(actual == expected);
}

TEST_CASE("sizes by hand", "[search]") {
  SearchBench bench;
  // Micro-batches 1, 2, 4, 8; three recomputations.
  CHECK(size(bench, written("gpus = 8", "global_batch = 64", "ddp {}")) == 12);
  // Both values of another field in the experiment are tried.
  CHECK(size(bench,
             written("gpus = 8", "global_batch = 64", "ddp { dtype = { 'bf16', 'fp16' } }")) == 24);
  CHECK(size(bench, written("gpus = 8", "global_batch = 64", "ddp { micro_batch = { 1, 2 } }"),
             {{"micro_batch"}, {}}) == 6);
  CHECK(size(bench, written("gpus = 8", "global_batch = 64", "ddp {}"), {{"recompute"}, {}}) == 4);
  CHECK(size(bench, written("gpus = 8", "global_batch = 64", "ddp {}"),
             {{}, {"flash_attention"}}) == 24);
  // none, fp16, bf16, and powersgd at ranks 1, 2 and 4: a choice comes with its parameters.
  CHECK(size(bench, written("gpus = 8", "global_batch = 64", "ddp {}"),
             {{"recompute"}, {"compression"}}) == 4 * 6);
  // full, grad_op, and hybrid with groups of 0 (a node), 2, 4, 8; four micro-batches; on the host
  // or not.
  const auto fsdp = written("gpus = 8", "global_batch = 64", "fsdp {}");
  CHECK(size(bench, fsdp, {{"recompute", "tensor_parallel", "pipeline_parallel"}, {}}) ==
        2 * 4 * 6);
  // With tensor parallel 2, 4 and 8 micro-batches go up to 16, 32 and 64 (5, 6 and 7 of them), and
  // groups to 4, 2 and 1 rank.
  CHECK(size(bench, fsdp, {{"recompute", "pipeline_parallel"}, {}}) ==
        2 * (4 * 6 + 5 * 5 + 6 * 4 + 7 * 3));
  // So with two, four and eight stages, and a stage's 6 or 3 of 12 layers in as many chunks as
  // divide them: 4, 2, and one where eight stages are not equal.
  CHECK(size(bench, fsdp, {{"recompute", "tensor_parallel"}, {}}) ==
        2 * (4 * 6 + 5 * 5 * 4 + 6 * 4 * 2 + 7 * 3));
  // The same layouts; three stages, three offloads.
  CHECK(size(bench, written("gpus = 8", "global_batch = 64", "deepspeed { stage = 1 }"),
             {{"recompute"}, {}}) == (4 + 5 + 6 + 7) * 3 * 3);
  // A prime batch leaves one data-parallel rank: tensor 8 with 3 stages and so on.
  const auto prime = written("gpus = 24", "global_batch = 13", "megatron {}");
  const std::vector<std::string> settings{"recompute",  "sequence_parallel", "zero_stage",
                                          "interleave", "stage_partition",   "offload"};
  auto but_offload = settings;
  but_offload.pop_back();
  CHECK(size(bench, prime, {settings, {}}) == 3 * 2);  // 8 x 3, 4 x 6, 2 x 12; 1 and 13 samples
  CHECK(size(bench, prime, {but_offload, {}}) == 3 * 2 * 2);
  // The software is tried only if requested.
  CHECK(size(bench, prime, {settings, {"engine"}}) == 3 * 2 * 4);
  // data_parallel kept at 2: 12 = tensor x pipeline is 1 x 12, 2 x 6, 4 x 3.
  auto with_data = settings;
  with_data.push_back("data_parallel");
  CHECK(size(bench, written("gpus = 24", "data_parallel = 2, global_batch = 2", "megatron {}"),
             {with_data, {}}) == 3);
  // A batch that no number of ranks divides leaves no configuration.
  CHECK(size(bench, written("gpus = 8", "global_batch = 7", "ddp {}")) == 0);
}

TEST_CASE("interleave divides the layers of a stage", "[search]") {
  SearchBench bench;
  const auto parsed = bench.parse(written("gpus = 4", "global_batch = 4", "megatron {}"));
  const auto space = bench.space(parsed, {{"recompute", "sequence_parallel", "zero_stage",
                                           "stage_partition", "micro_batch", "offload"},
                                          {}});
  RunMaker maker(*space, 0);
  for (const auto& block : blocks_of(*space)) {
    // 12 layers: 1 stage 1; 2 stages of 6: 1, 2, 3, 6; 4 stages of 3: 1, 3.
    const std::map<std::int64_t, std::uint64_t> expected{{1, 1}, {2, 4}, {4, 2}};
    CHECK(maker.start(block) == expected.at(block.pipeline_parallel));
    std::uint64_t count = 0;
    do {
      CHECK(maker.inner() == count++);
      const auto v = std::get<std::int64_t>(maker.run().setting("interleave"));
      CHECK(12 / block.pipeline_parallel % v == 0);
      CHECK(maker.run().layout.ranks() == 4);
      CHECK(maker.run().batch.accumulate * maker.run().layout.data_parallel == 4);
    } while (maker.next());
    CHECK(count == expected.at(block.pipeline_parallel));
  }
}

TEST_CASE("what is not open stays as the experiment has it", "[search]") {
  SearchBench bench;
  const auto parsed =
      bench.parse(written("gpus = 8, qos = 'dev'", "global_batch = 8",
                          "megatron { dtype = 'fp16', fp32_accumulate = true, zero_stage = 1 }",
                          "tokens = 5e9, steps = 7"));
  const auto space = bench.space(parsed, {{"zero_stage"}, {}});
  RunMaker maker(*space, 0);
  for (const auto& block : blocks_of(*space)) {
    maker.start(block);
    do {
      const auto& run = maker.run();
      REQUIRE(run.text_setting("dtype") == "fp16");
      REQUIRE(run.setting("fp32_accumulate") == plan::Value(true));
      REQUIRE(run.setting("zero_stage") == plan::Value(std::int64_t{1}));
      REQUIRE(run.tokens == 5e9);
      REQUIRE(run.steps == 7);
      REQUIRE(run.job.qos == "dev");
    } while (maker.next());
  }
}

TEST_CASE("fields that cannot be kept or opened are named", "[search]") {
  SearchBench bench;
  const auto parsed = bench.parse(written("gpus = 8", "global_batch = 64", "ddp {}, megatron {}"));
  const auto errors = bench.errors(
      parsed, {{"tensor_paralel", "overlap"}, {"bucket_mb", "flash", "gpus", "overlap"}});
  REQUIRE(errors.size() == 5);
  CHECK(errors[0].place == "--keep");
  CHECK_THAT(errors[0].text(), ContainsSubstring("did you mean 'tensor_parallel'?"));
  CHECK_THAT(errors[1].fact, ContainsSubstring("bucket_mb has no set of values to try"));
  CHECK_THAT(errors[2].fact, ContainsSubstring("no field 'flash' to open"));
  CHECK_THAT(errors[3].fact, ContainsSubstring("no field 'gpus' to open"));
  CHECK_THAT(errors[4].fact, ContainsSubstring("overlap is both kept and opened"));
}

TEST_CASE("a search needs GPUs and a batch to divide", "[search]") {
  SearchBench bench;
  const auto no_gpus = bench.parse(
      "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100' }, batch = { "
      "data_parallel = 2, accumulate = 4 }, strategies = { megatron {} } }");
  const auto errors = bench.errors(no_gpus);
  REQUIRE(errors.size() == 2);
  CHECK_THAT(errors[0].text(), ContainsSubstring("how many GPUs"));
  CHECK_THAT(errors[1].text(), ContainsSubstring("--keep micro_batch"));
  // With the experiment's own micro-batch and accumulation the batch follows.
  const auto kept = bench.parse(written("gpus = 8", "micro_batch = 2, accumulate = 3", "ddp {}"));
  const auto space = bench.space(kept, {{"micro_batch"}, {}});
  CHECK(size_of(*space) == 3);
  RunMaker maker(*space, 0);
  maker.start(blocks_of(*space).front());
  CHECK(maker.run().batch.global_batch == 2 * 3 * 8);

  const auto nowhere = bench.parse(
      "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a10', gpus = 8 }, "
      "strategies = { ddp {} } }");
  CHECK_THAT(text(bench.errors(nowhere)), ContainsSubstring("dgx-a100"));
}

TEST_CASE("shapes take the place of the model's own sizes", "[search]") {
  SearchBench bench;
  const auto parsed = bench.parse(
      "return experiment { model = { 'bloom-7b', preset('bloom-7b', { layers = 31 }) }, search = { "
      "params = '7B', tolerance = 0.02, layers = { from = 28, to = 34 }, heads = { 32, 64 } }, "
      "hardware = { cluster = 'dgx-a100', gpus = 8 }, batch = { global_batch = 8 }, strategies = { "
      "ddp {} } }");
  const auto space = bench.space(parsed, {{"recompute", "micro_batch"}, {}});
  REQUIRE(space->parts().size() == 1);  // the two models differ in nothing else
  const auto& shapes = space->parts().front().shapes;
  const auto blocks = blocks_of(*space);
  REQUIRE(blocks.size() == shapes.size());
  RunMaker maker(*space, 0);
  for (const auto& block : blocks) {
    maker.start(block);
    const auto& model = maker.run().model;
    CHECK(RankShape{model.layers, model.hidden, model.heads} == shapes[block.shape]);
    CHECK(std::abs(model.params() / 7e9 - 1) <= 0.02);
    CHECK(model.vocab == 250880);
    CHECK(model.name == shape_name("bloom", shapes[block.shape]));
  }
}

TEST_CASE("strategies of different software are parts of their own", "[search]") {
  SearchBench bench;
  const auto parsed = bench.parse(
      "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', gpus = 8 }, "
      "stack = 'ours', batch = { global_batch = 8 }, strategies = { ddp {}, ddp { stack = 'theirs' "
      "}, "
      "ddp { setup = 'module load a' }, ddp { environment = { A = '1' } }, ddp {} } }");
  const auto space = bench.space(parsed);
  REQUIRE(space->parts().size() == 4);
  const auto stack = [&](std::uint32_t part) {
    RunMaker maker(*space, part);
    maker.start(maker.blocks(0, 0).front());
    return maker.run().stack;
  };
  CHECK(stack(0) == "ours");
  CHECK(stack(1) == "theirs");
}

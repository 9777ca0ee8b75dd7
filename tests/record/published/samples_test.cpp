#include "core/record/published/samples.h"

#include "core/record/published/table.h"
#include "tests/record/published/support.h"

namespace orch::published {
namespace {

using namespace test;
using plan::Value;

TEST_CASE("a whole row is a run, with nothing assumed", "[measured][samples]") {
  const auto sample = one(row());
  const auto& run = sample.run;
  CHECK(sample.assumed.empty());
  CHECK(sample.date == "2022-02-25");
  CHECK(*sample.step_seconds == 117.11);
  CHECK(*sample.memory_bytes == 75 * 1073741824.0);
  CHECK_FALSE(sample.oom);
  CHECK(run.strategy->name == "megatron");
  CHECK(run.partition->name == "a100-80g");
  CHECK(run.nodes == 48);
  CHECK(run.layout == plan::Layout{4, 6, 16});
  CHECK(run.batch == plan::Batch{4, 32, 2048, {}});
  CHECK(run.model.family == "gpt");
  CHECK(run.setting("tensor_parallel") == Value(std::int64_t{4}));
  CHECK(run.setting("pipeline_parallel") == Value(std::int64_t{6}));
  CHECK(run.setting("zero_stage") == Value(std::int64_t{1}));
  CHECK(run.setting("recompute") == Value(std::string("full")));
  CHECK(run.setting("dtype") == Value(std::string("fp16")));
  CHECK(run.setting("stage_partition") == Value(std::string("uniform")));
  CHECK(run.setting("fp32_accumulate") == Value(false));
}

TEST_CASE("a row of an A100 that says nothing of flash attention had none", "[measured][samples]") {
  auto silent = row();
  CHECK(one(silent).run.setting("flash_attention") == Value(false));
  silent.origin.date = "2026-01-01";
  CHECK(one(silent).run.setting("flash_attention") == Value(false));
}

TEST_CASE("a row has a stack that is known, and without a date the newest", "[measured][samples]") {
  auto undated = row();
  cell(undated, "framework") = "megatron";  // the name of megatron-lm-2021 and megatron-core-2025
  CHECK(one(undated).run.stack == "megatron-lm-2021");
  undated.origin.date.clear();
  CHECK(one(undated).run.stack == "megatron-core-2025");
  CHECK(
      assumes(one(undated), "stack megatron-core-2025, the newest megatron (the row has no date)"));
  cell(undated, "stack") = "megatron-lm-2021";
  CHECK(one(undated).assumed.empty());
  cell(undated, "stack") = "megatron-lm-2012";
  CHECK(has(reason(undated),
            "stack: no stack is called 'megatron-lm-2012'; did you mean "
            "'megatron-lm-2021'?"));
}

// DeepSeek-V3: 671B parameters, 37B of them used per token.
TEST_CASE("a row says all of a mixture", "[measured][samples]") {
  auto mixture = row();
  mixture.origin.date = "2025-06";
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"framework", "megatron-bridge"},
                                                        {"layers", "61"},
                                                        {"hidden", "7168"},
                                                        {"heads", "128"},
                                                        {"vocab", "129280"},
                                                        {"kv_heads", "128"},
                                                        {"head_dim", "128"},
                                                        {"ffn_hidden", "18432"},
                                                        {"experts", "256"},
                                                        {"experts_per_token", "8"},
                                                        {"shared_experts", "1"},
                                                        {"expert_hidden", "2048"},
                                                        {"dense_layers", "3"},
                                                        {"q_rank", "1536"},
                                                        {"kv_rank", "512"},
                                                        {"rope_dim", "64"},
                                                        {"value_dim", "128"},
                                                        {"tp", "1"},
                                                        {"pp", "6"},
                                                        {"dp", "64"},
                                                        {"gas", "8"},
                                                        {"expert_parallel", "32"},
                                                        {"overlap_experts", "true"},
                                                        {"dtype", "bf16"}})
    REQUIRE(set_cell(mixture, name, value));
  const auto found = samples({mixture});
  for (const auto& row : found.skipped) FAIL(row.reason);
  const auto& run = found.samples.front().run;
  CHECK(run.model.family == "moe");
  CHECK(run.model.params() == Approx(671e9).epsilon(0.003));
  CHECK(run.model.active_params() == Approx(37.6e9).epsilon(0.02));
  CHECK(run.setting("expert_parallel") == plan::Value(std::int64_t{32}));
  CHECK(run.setting("overlap_experts") == plan::Value(true));
}

// Megatron-LM's tests have mixtures with GPT-2's layers.
TEST_CASE("a mixture's layers can be those of GPT-2", "[measured][samples]") {
  auto mixture = row();
  mixture.origin.date = "2026-08";
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"framework", "megatron-lm"},
                                                        {"layers", "12"},
                                                        {"hidden", "512"},
                                                        {"heads", "8"},
                                                        {"vocab", "50257"},
                                                        {"ffn_hidden", "2048"},
                                                        {"experts", "8"},
                                                        {"experts_per_token", "1"},
                                                        {"swiglu", "false"},
                                                        {"rms_norm", "false"},
                                                        {"rope", "false"},
                                                        {"bias", "true"}})
    REQUIRE(set_cell(mixture, name, value));
  const auto& model = one(mixture).run.model;
  CHECK(model.family == "moe");
  // Each layer has eight experts with two matrices and their biases.
  CHECK_FALSE(model.swiglu);
  CHECK(model.bias);
  const double attention = 4 * 512.0 * 512 + 4 * 512, router = 8 * 512, norms = 4 * 512;
  const double experts = 8 * (2 * 512.0 * 2048 + 2048 + 512);
  const double ends = 2 * 50257.0 * 512 + 2048 * 512 + 2 * 512;  // both embeddings, positions, the
                                                                 // last norm
  CHECK(model.params() == Approx(12 * (attention + router + norms + experts) + ends).epsilon(1e-4));
}

TEST_CASE("one expert is no mixture", "[measured][samples]") {
  auto dense = row();
  cell(dense, "experts") = 1;
  CHECK(one(dense).run.model.family == "gpt");
}

TEST_CASE("a memory says what it is of", "[measured][samples]") {
  auto told = row();
  for (const auto& [word, what] : {std::pair{"first", plan::MemoryOf::first},
                                   {"fullest", plan::MemoryOf::fullest},
                                   {"allocated", plan::MemoryOf::allocated}}) {
    cell(told, "mem_of") = word;
    CHECK(one(told).memory_of == what);
  }
}

TEST_CASE("a column may have the name that experiments have for it", "[measured][samples]") {
  const auto rows = parse_rows(
      "id,gpu,gpus,framework,layers,hidden,tensor_parallel,recompute,step_time_s\n"
      "a,a100,8,megatron-lm,24,2048,4,none,1\n",
      "mine.csv");
  REQUIRE(rows);
  CHECK(rows->front().whole("tensor_parallel") == 4);
  CHECK(rows->front().field_text("recompute") == "none");
}

TEST_CASE("suspect and duplicate rows are left out and counted", "[measured][samples]") {
  auto suspect = row(), twice = row(), both = row();
  cell(suspect, "suspect") = true;
  cell(twice, "dup_of") = "r1";
  cell(both, "suspect") = true;
  cell(both, "dup_of") = "r1";
  const auto made = samples({row(), suspect, twice, both});
  CHECK(made.samples.size() == 1);
  CHECK(made.suspect == 2);
  CHECK(made.duplicates == 1);
  CHECK(made.skipped.empty());
}

TEST_CASE("DeepSpeed's BF16 optimizer shards and sums in fp32", "[measured][samples]") {
  auto bf16 = row();
  cell(bf16, "dtype") = "bf16";
  CHECK(one(bf16).run.setting("fp32_accumulate") == Value(false));
  bf16.origin.date = "2022-02-28";
  CHECK(one(bf16).run.setting("fp32_accumulate") == Value(false));  // ZeRO-1 by name
  cell(bf16, "zero_stage").reset();
  const auto sample = one(bf16);
  CHECK(sample.run.setting("fp32_accumulate") == Value(true));
  CHECK(sample.run.setting("zero_stage") == Value(std::int64_t{1}));
  CHECK(assumes(sample, "BF16 optimizer"));
}

TEST_CASE("what Megatron tables leave out follows its habits", "[measured][samples]") {
  auto open = row();
  cell(open, "zero_stage").reset();
  cell(open, "dtype") = cell(open, "act_ckpt") = "";
  cell(open, "mbs").reset();
  cell(open, "gas").reset();
  cell(open, "seq").reset();
  cell(open, "vocab").reset();
  cell(open, "heads").reset();
  cell(open, "dp").reset();
  const auto sample = one(open);
  CHECK(sample.run.setting("zero_stage") == Value(std::int64_t{1}));
  CHECK(sample.run.setting("dtype") == Value(std::string("fp16")));
  CHECK(sample.run.setting("recompute") == Value(std::string("full")));
  CHECK(sample.run.batch == plan::Batch{1, 128, 2048, {}});
  CHECK(sample.run.model.seq == 2048);
  CHECK(sample.run.model.vocab == 50257);
  CHECK(sample.run.model.heads == 112);
  CHECK(sample.run.layout.data_parallel == 16);
  for (const char* part : {"zero_stage 1", "dtype fp16", "recompute full", "mbs 1", "seq 2048",
                           "vocab 50257", "heads 112"})
    CHECK(assumes(sample, part));
  cell(open, "framework") = "megatron";
  CHECK(one(open).run.setting("zero_stage") == Value(std::int64_t{0}));
}

TEST_CASE("chunks of a pipeline are micro-batches", "[measured][samples]") {
  auto chunks = row();
  cell(chunks, "gas").reset();
  cell(chunks, "pp_chunks") = 32;
  CHECK(one(chunks).run.batch.accumulate == 32);
  CHECK(one(chunks).run.setting("interleave") == Value(std::int64_t{1}));
}

TEST_CASE("a batch that does not divide is cut, a wrong one is no run", "[measured][samples]") {
  auto odd = row();
  cell(odd, "gpus") = 6 * 8 * 8;
  cell(odd, "tp") = 8;
  cell(odd, "pp") = 8;
  cell(odd, "dp") = 6;
  cell(odd, "mbs") = 1;
  cell(odd, "gas") = 341;  // 2046 of 2048 samples
  const auto sample = one(odd);
  CHECK(sample.run.batch.global_batch == 2046);
  CHECK(assumes(sample, "gbs 2046"));
  cell(odd, "gas") = 300;
  CHECK(has(reason(odd), "gbs: 2048 is not mbs 1 x 300 micro-batches x dp 6"));
  cell(odd, "gas") = 400;
  CHECK(has(reason(odd), "gbs: 2048 is not"));
}

TEST_CASE("embeddings are counted as layers where the row says so or must", "[measured][samples]") {
  auto partition = row();
  cell(partition, "partition_method") = "type:transformer|embed";
  CHECK(one(partition).run.setting("stage_partition") ==
        Value(std::string("transformer|embedding")));
  auto pvc = row();  // 62 layers distributed in twos to 32 stages leave the last one empty
  cell(pvc, "layers") = 62;
  cell(pvc, "pp") = 32;
  cell(pvc, "tp") = 4;
  cell(pvc, "dp") = 3;
  cell(pvc, "mbs") = 1;
  cell(pvc, "gas") = 16;
  cell(pvc, "gbs") = 48;
  const auto sample = one(pvc);
  CHECK(sample.run.setting("stage_partition") == Value(std::string("transformer|embedding")));
  CHECK(assumes(sample, "embeddings counted"));
  auto uneven = row();  // 78 on 12 are seven each and one: that ran
  cell(uneven, "layers") = 78;
  cell(uneven, "pp") = 12;
  cell(uneven, "dp") = 8;
  cell(uneven, "mbs") = 2;
  cell(uneven, "gas") = 128;
  CHECK(one(uneven).run.setting("stage_partition") == Value(std::string("uniform")));
}

TEST_CASE("rows in days per 100B tokens", "[measured][samples]") {
  Record days;
  days.id = "b7b";
  days.source = days.table = "b";
  cell(days, "site") = "jean-zay";
  cell(days, "gpu") = "a100-80g";
  cell(days, "gpus") = 16;
  cell(days, "framework") = "ddp";
  cell(days, "layers") = 30;
  cell(days, "hidden") = 4096;
  cell(days, "heads") = 32;
  cell(days, "vocab") = 250880;
  cell(days, "seq") = 1024;
  cell(days, "mbs") = 2;
  cell(days, "grad_accum") = 256;
  cell(days, "optimizer") = "adafactor";
  cell(days, "grad_compression") = "powersgd";
  cell(days, "act_ckpt") = "true";
  cell(days, "days_per_100b_tokens") = 73;
  cell(days, "status") = "ok";
  const auto sample = one(days);
  // 16 ranks * 2 * 256 * 1024 = 8,388,608 tokens per step; 73 days / 1e11 of that.
  CHECK(*sample.step_seconds == Approx(73 * 86400.0 / 1e11 * 8388608));
  CHECK(sample.run.batch == plan::Batch{2, 256, 8192, {}});
  CHECK(sample.run.model.family == "bloom");
  CHECK(sample.run.setting("compression") == Value(std::string("powersgd")));
  CHECK(sample.run.setting("optimizer") == Value(std::string("adafactor")));
  CHECK(sample.run.setting("dtype") == Value(std::string("bf16")));
  cell(days, "framework") = "deepspeed";
  cell(days, "grad_compression") = "none";
  cell(days, "optimizer") = "AdamW";
  CHECK(has(reason(days), "zero_stage"));
  cell(days, "zero_stage") = 2;
  CHECK(one(days).run.setting("stage") == Value(std::int64_t{2}));
  cell(days, "framework") = "fsdp";
  cell(days, "act_ckpt") = "";
  cell(days, "grad_accum").reset();
  CHECK(one(days).run.setting("recompute") == Value(std::string("none")));
  CHECK(one(days).run.batch == plan::Batch{2, 1, 32, {}});
  cell(days, "grad_compression") = "powersgd";
  CHECK(has(reason(days), "compression: fsdp has no such setting, but the row says 'powersgd'"));
}

TEST_CASE("master weights that a strategy has anyway are no mistake of a row",
          "[measured][samples]") {
  auto fsdp = row();
  cell(fsdp, "framework") = "fsdp";
  lay_flat(fsdp);
  cell(fsdp, "zero_stage").reset();
  for (const bool said : {true, false}) {
    cell(fsdp, "master_weights") = said;
    CHECK(one(fsdp).run.strategy->name == "fsdp");
  }
}

TEST_CASE("ZeRO-3 of several kinds", "[measured][samples]") {
  auto zero = row();
  cell(zero, "framework") = "hf-deepspeed-zero3";
  cell(zero, "zero_stage") = 3;
  cell(zero, "offload") = "full";
  lay_flat(zero);
  const auto sample = one(zero);
  CHECK(sample.run.strategy->name == "deepspeed");
  CHECK(sample.run.setting("stage") == Value(std::int64_t{3}));
  CHECK(sample.run.setting("offload") == Value(std::string("full")));
  cell(zero, "framework") = "megatron-deepspeed-zero3";
  cell(zero, "zero_stage").reset();
  CHECK(one(zero).run.setting("stage") == Value(std::int64_t{3}));
  cell(zero, "offload") = "ful";
  CHECK(has(reason(zero), "did you mean 'full'?"));
}

TEST_CASE("the step time comes from the cell that says it best", "[measured][samples]") {
  auto timed = row();
  cell(timed, "samples_per_s") = 20;
  CHECK(*one(timed).step_seconds == 117.11);
  cell(timed, "step_time_s").reset();
  CHECK(*one(timed).step_seconds == Approx(2048 / 20.0));
  cell(timed, "samples_per_s").reset();
  // The published TFLOPs lead back to the published time: 137.66 -> 117.11 s.
  CHECK(*one(timed).step_seconds == Approx(117.11).epsilon(2e-4));
  cell(timed, "tflops_formula") = "deepspeed-profiler";
  CHECK_FALSE(one(timed).step_seconds);
}

TEST_CASE("what ran out of memory has no time and no size", "[measured][samples]") {
  auto oom = row();
  cell(oom, "status") = "oom";
  auto sample = one(oom);
  CHECK(sample.oom);
  CHECK_FALSE(sample.host_oom);  // 75 of 80 GiB
  CHECK_FALSE(sample.step_seconds);
  CHECK_FALSE(sample.memory_bytes);
  cell(oom, "mem_gb") = 35;
  CHECK(one(oom).host_oom);
  cell(oom, "mem_gb").reset();
  CHECK_FALSE(one(oom).host_oom);
}

TEST_CASE("a row that says nothing is skipped", "[measured][samples]") {
  auto empty = row();
  cell(empty, "step_time_s").reset();
  cell(empty, "tflops_per_gpu").reset();
  cell(empty, "mem_gb").reset();
  CHECK(one(empty).status == "ok");  // that it ran is a fact
  cell(empty, "status") = "hang";
  CHECK(has(reason(empty), "it hung"));
  cell(empty, "status") = "";
  CHECK(has(reason(empty), "neither a result"));
  cell(empty, "status") = "hang";
  cell(empty, "step_time_s") = 100;
  CHECK(*one(empty).step_seconds == 100);
}

TEST_CASE("a site that is none of ours is served by the cluster asked for", "[measured][samples]") {
  auto other = row();
  cell(other, "site") = "selene";
  CHECK(has(reason(other), "site: no cluster 'selene'; name a cluster with --cluster"));
  CHECK(one(other, "dgx-a100").run.cluster->name == "dgx-a100");
  CHECK(assumes(one(other, "dgx-a100"), "site dgx-a100"));
  CHECK(one(row(), "dgx-a100").run.cluster->name == "jean-zay");  // its own cluster is known
  cell(other, "site") = "jean-zey";
  CHECK(has(reason(other), "did you mean 'jean-zay'?"));
  cell(other, "site") = "";
  CHECK(has(reason(other), "site: names none, and "));
  CHECK(has(reason(other), "dgx-a100"));
  CHECK_FALSE(has(reason(other), "perlmutter"));  // whose nodes have four GPUs
  cell(other, "gpu") = "h200";
  CHECK(has(reason(other), "no cluster has the GPU 'h200' on nodes of 8"));
  cell(other, "gpus") = cell(other, "gpus_per_node") = cell(other, "nodes") = cell(other, "tp") =
      cell(other, "pp") = cell(other, "dp") = 1;
  cell(other, "gbs") = 4 * 32;
  CHECK(one(other).run.cluster->name == "h200");
  CHECK(assumes(one(other), "site h200: the one cluster with h200"));
  cell(other, "gpu") = "tpu";
  CHECK(has(reason(other), "no cluster has the GPU 'tpu'"));
}

TEST_CASE("a GPU has many spellings, but must be there", "[measured][samples]") {
  auto spelt = row();
  for (const char* gpu : {"A100-80GB", "A100 80GB", "nvidia a100_80gb", "a100"}) {
    cell(spelt, "gpu") = gpu;
    CHECK(one(spelt).run.partition->gpu.name == "a100-80g");
  }
  cell(spelt, "gpu") = "v100";  // 16 or 32 GB
  CHECK(has(reason(spelt), "gpu: jean-zay has no 'v100'"));
  cell(spelt, "gpu") = "a100-8g";
  CHECK(has(reason(spelt), "did you mean 'a100-80g'?"));
  cell(spelt, "gpu") = "";
  CHECK(has(reason(spelt), "gpu: names none, and jean-zay has several"));
}

TEST_CASE("an unknown framework is skipped with a guess", "[measured][samples]") {
  auto other = row();
  cell(other, "framework") = "megatorn";
  CHECK(has(reason(other), "framework: no 'megatorn' here; did you mean 'megatron'?"));
  cell(other, "framework") = "alpa";
  CHECK(has(reason(other), "one of: megatron"));
  cell(other, "framework") = "";
  CHECK(has(reason(other), "framework: names none"));
}

TEST_CASE("what cannot be is skipped with the reason", "[measured][samples]") {
  auto wrong = row();
  cell(wrong, "dp") = 8;
  CHECK(has(reason(wrong), "gpus: dp 8 x tp 4 x pp 6 is not 384"));
  wrong = row();
  cell(wrong, "layers").reset();
  CHECK(has(reason(wrong), "layers: not given"));
  wrong = row();
  cell(wrong, "heads") = 66;
  CHECK(has(reason(wrong), "heads = 66 is not divisible by tensor_parallel = 4"));
  wrong = row();
  cell(wrong, "gpus").reset();
  cell(wrong, "dp").reset();
  CHECK(has(reason(wrong), "gpus: not given, and neither is dp"));
  wrong = row();
  cell(wrong, "dtype") = "half";
  CHECK(has(reason(wrong), "no choice 'half'"));
  wrong = row();
  cell(wrong, "tp") = cell(wrong, "pp") = 65536;
  cell(wrong, "dp") = 10'000'000;
  CHECK(has(reason(wrong), "gpus: dp 10000000"));
  cell(wrong, "gpus").reset();
  CHECK(has(reason(wrong), "more than any machine has"));
}

TEST_CASE("more nodes than the site has are no reason: it was run", "[measured][samples]") {
  auto large = row();
  cell(large, "dp") = 160;
  cell(large, "gpus") = 3840;
  cell(large, "gbs") = 20480;
  CHECK(one(large).run.nodes == 480);
  auto odd = row();  // nor are partly used nodes
  cell(odd, "tp") = cell(odd, "pp") = 1;
  cell(odd, "dp") = cell(odd, "gpus") = 12;
  cell(odd, "layers") = 2;
  cell(odd, "mbs") = cell(odd, "gas") = 1;
  cell(odd, "gbs") = 12;
  CHECK(one(odd).run.nodes == 2);
}

TEST_CASE("a missing width is solved with the other rows of the table", "[measured][samples]") {
  // The Intel rows: layers, TFLOPs and samples per second, no width.
  std::vector<Record> rows;
  const auto add = [&](std::int64_t pp, double rate, double tflops) {
    Record pvc;
    pvc.id = "pvc" + std::to_string(rows.size());
    pvc.source = pvc.table = "intel";
    cell(pvc, "gpu") = "pvc";
    cell(pvc, "framework") = "megatron-deepspeed";
    cell(pvc, "gpus") = 12 * pp;
    cell(pvc, "layers") = 2 * pp;
    cell(pvc, "tp") = 12;
    cell(pvc, "pp") = pp;
    cell(pvc, "dp") = 1;
    cell(pvc, "mbs") = 1;
    cell(pvc, "gas") = cell(pvc, "gbs") = 8 * pp;
    if (rate > 0) {
      cell(pvc, "samples_per_s") = rate;
      cell(pvc, "tflops_per_gpu") = tflops;
      cell(pvc, "tflops_formula") = "megatron-ds-perlmutter";
    }
    cell(pvc, "status") = rate > 0 ? "ok" : "oom";
    rows.push_back(pvc);
  };
  add(2, 2.5, 54.7);
  add(8, 2.7, 59.4);
  add(16, 2.8, 60.5);
  add(32, 2.8, 60.0);
  add(32, 0, 0);  // out of memory, and no number at all
  const auto made = samples(rows);
  REQUIRE(made.samples.size() == 5);
  for (const auto& sample : made.samples) {
    CHECK(sample.run.cluster->name == "intel-pvc");
    // Published analysis: all rows agree only for a width of 25395 to 25554.
    CHECK(sample.run.model.hidden >= 25395);
    CHECK(sample.run.model.hidden <= 25554);
    CHECK(sample.run.model.heads % 12 == 0);
    CHECK(sample.run.model.hidden % sample.run.model.heads == 0);
    CHECK(assumes(sample, "hidden "));
  }
  CHECK(*made.samples[0].step_seconds == Approx(16 / 2.5));
  for (auto& wide : rows) cell(wide, "samples_per_s") = 1e-9;
  CHECK(samples(rows).samples.empty());
}

TEST_CASE("folds are tables where there are three, else fifths", "[measured][samples]") {
  std::vector<PublishedSample> all;
  const auto here = std::make_shared<plan::Cluster>();
  here->name = "here";
  const auto add = [&](const char* source, const char* table, std::optional<double> seconds) {
    PublishedSample sample;
    sample.run.cluster = here;
    sample.source = source;
    sample.table = table;
    sample.step_seconds = seconds;
    all.push_back(sample);
  };
  add("a", "x", 1);
  add("a", "y", 1);
  add("a", "z", 1);
  add("a", "x", 1);
  for (int i = 0; i < 7; ++i) add("b", i % 2 == 0 ? "x" : "y", 1);
  add("b", "no times here", std::nullopt);
  const auto names = folds(all);
  CHECK(names[0] == names[3]);
  CHECK(names[0] != names[1]);
  CHECK(names[1] != names[2]);
  CHECK(names[4] == names[9]);   // rows 0 and 5 of b
  CHECK(names[5] == names[10]);  // rows 1 and 6
  CHECK(names[4] != names[5]);
  CHECK(names[4] != names[0]);
  CHECK(names[11] == "b@here#2");
  CHECK(sources(all)[0] == sources(all)[2]);
  CHECK(sources(all)[0] != sources(all)[4]);
}

}  // namespace
}  // namespace orch::published

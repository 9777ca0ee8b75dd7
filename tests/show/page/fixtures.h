#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/show/page/page.h"

// Pages made by hand, each of one kind of data.
namespace orch::page::test {

using record::Record;

inline constexpr double kGiB = 1024.0 * 1024 * 1024;

struct ChartShape {
  std::string strategy;
  std::int64_t gpus = 8, tensor = 1, pipeline = 1, micro = 1, global = 1024;
  double step = 10;  // seconds
};

inline Record described(const std::string& id, const ChartShape& shape) {
  Record out;
  out.id = id;
  out.source = "toy";
  out.set("strategy", shape.strategy);
  out.set("cluster", std::string("jean-zay"));
  out.set("gpu", std::string("a100-80g"));
  out.set("gpus", shape.gpus);
  out.set("model", std::string("gpt-199b"));
  out.set("layers", std::int64_t{96});
  out.set("seq", std::int64_t{2048});
  out.set("tensor_parallel", shape.tensor);
  out.set("pipeline_parallel", shape.pipeline);
  const auto data = shape.gpus / (shape.tensor * shape.pipeline);
  out.set("data_parallel", data);
  out.set("micro_batch", shape.micro);
  out.set("accumulate", shape.global / (shape.micro * data));
  out.set("global_batch", shape.global);
  out.set("recompute", std::string("full"), true);
  out.set("dtype", std::string("bf16"));
  out.origin.kind = "run";
  out.origin.file = "runs/toy/" + id;
  out.origin.experiment_file = "experiments/toy.lua";
  out.origin.commit = "0123abcd";
  out.origin.versions = {{"orch", "0.6"}, {"torch", "2.11"}};
  return out;
}

inline std::vector<plan::EstimateItem> items(double step) {
  return {{"GEMMs", "compute", 0.62 * step},
          {"attention", "compute", 0.06 * step},
          {"pipeline bubble", "bubble", 0.11 * step},
          {"tensor-parallel all-reduce", "communication", 0.12 * step},
          {"data-parallel reduction", "communication", 0.05 * step},
          {"optimizer step", "optimizer", 0.03 * step},
          {"rest", "other", 0.01 * step}};
}

inline void estimate(Record& record, double step, double memory_gib, double limit_gib = 76) {
  const double tokens = *record.field_number("global_batch") * *record.field_number("seq") / step;
  plan::Estimate out;
  using plan::MemoryFit;
  out.fit = memory_gib > limit_gib          ? MemoryFit::oom
            : memory_gib > 0.92 * limit_gib ? MemoryFit::tight
                                            : MemoryFit::fits;
  out.step_seconds = step;
  out.step_low = 0.9 * step;
  out.step_high = 1.12 * step;
  out.peak_memory = memory_gib * kGiB;
  out.memory_low = 0.94 * memory_gib * kGiB;
  out.memory_high = 1.06 * memory_gib * kGiB;
  out.usable_memory = limit_gib * kGiB;
  out.tokens_per_second = tokens;
  out.days_per_100b_tokens = 100e9 / tokens / 86400;
  out.tflops_per_gpu = 140;
  out.tflops_per_gpu_simple = 133;
  out.mfu = 0.45;
  out.time = items(step);
  record.estimated = out;
}

// The median of 40 steps, and what follows from it.
inline void measure(Record& record, double step, double memory_gib) {
  auto& out = record.measured;
  out.step_seconds = statistics::Interval{step, 0.985 * step, 1.02 * step, 40};
  out.window = {2, 41, 40, 1, "step 1 dropped (first after a start), 40 steps used: 2 to 41"};
  const double tokens = *record.field_number("global_batch") * *record.field_number("seq") / step;
  out.tokens_per_second = tokens;
  out.days_per_100b_tokens = 100e9 / tokens / 86400;
  out.tflops = {{131.5, "megatron", false}, {120.25, "simple8", true}};
  out.peak_memory_bytes = memory_gib * kGiB;
  out.peak_memory_from = "max reserved";
  out.odd_steps = {{17, 2.1 * step, 2.1}};
  out.odd_step_count = 1;
  out.steps = 41;
  out.steps_planned = 41;
  out.time_items = items(step);
  record.state = record::RunState::finished;
}

inline void curve(Record& record, std::int64_t steps, double level, bool tokens = true) {
  const double batch = *record.field_number("global_batch") * *record.field_number("seq");
  for (std::int64_t s = 1; s <= steps; ++s) {
    const double wave = 0.05 * std::sin(static_cast<double>(s) * 0.7);
    const double spike = s == steps / 2 ? 1.5 : 0;
    record.measured.losses.push_back(
        {s, tokens ? batch * static_cast<double>(s) : 0,
         level + 8 / std::sqrt(static_cast<double>(s)) + wave + spike});
  }
  record.measured.last_loss = record.measured.losses.back().loss;
  record.measured.resumes = {steps / 2};
  for (std::int64_t s = 1; s <= steps; ++s)
    record.measured.step_times.push_back({s, s == 1 ? 60.0
                                             : s == steps / 3
                                                 ? 25.0
                                                 : 10 + 0.2 * std::sin(static_cast<double>(s))});
  record.measured.peaks = {{1, 40 * kGiB}, {2, 41 * kGiB}, {steps / 2, 42 * kGiB}};
  record.measured.spikes = {{steps / 2, level + 0.5, level + 2, steps / 2 + 3, true}};
}

// Everything that a page can show.
inline Page full() {
  Page page;
  page.title = "200b";
  page.doc = "a 200B GPT on 48 nodes of 8 A100-80GB, 300B tokens";
  page.command = "orch report experiments/200b.lua";
  page.created = "2027-03-14 15:09";
  const std::vector<ChartShape> shapes{
      {"megatron", 96, 8, 6, 1, 1536, 395},   {"megatron", 192, 8, 6, 2, 1536, 204},
      {"megatron", 384, 8, 6, 2, 1536, 108},  {"megatron", 384, 8, 12, 2, 1536, 112},
      {"megatron", 384, 4, 12, 1, 1536, 104}, {"deepspeed", 96, 1, 1, 1, 1536, 640},
      {"deepspeed", 192, 1, 1, 1, 1536, 350}, {"deepspeed", 384, 1, 1, 1, 1536, 215},
      {"fsdp", 192, 1, 1, 1, 1536, 372},      {"fsdp", 384, 1, 1, 1, 1536, 226}};
  int n = 0;
  for (const auto& shape : shapes) {
    auto run = described("toy-" + std::to_string(++n), shape);
    estimate(run, shape.step * (1 + 0.02 * (n % 5 - 2)), 48 + 3.1 * n);
    if (n % 3 != 0) measure(run, shape.step, 47.5 + 3.0 * n);
    if (n == 3 || n == 5 || n == 8) curve(run, 600, 2 + 0.1 * n);
    run.origin.job = std::to_string(4200 + n);
    run.origin.nodes = {"r7i0n" + std::to_string(n), "r7i1n" + std::to_string(n)};
    page.records.push_back(run);
  }
  auto& failed = page.records[8];
  failed.measured = {};
  failed.state = record::RunState::failed;
  failed.failure = record::Failure::gpu_memory;
  failed.reason = "CUDA out of memory. Tried to allocate 2.50 GiB";
  page.records[3].doubts = {
      {"tflops", "tflops_per_gpu", "131.5 TFLOPs do not follow from 112 s per step: 126.8 do"}};
  auto plain = described("toy-11", {"megatron", 384, 8, 4, 1, 1536, 0});
  plain.not_estimated = "no profile of this GPU";
  page.records.push_back(plain);
  page.rejected = {
      {"megatron-tp3", {{"tensor_parallel", "96 heads on 5 ranks", "make it divide the heads"}}},
      {"megatron-tp7", {{"tensor_parallel", "96 heads on 7 ranks", "make it divide the heads"}}},
      {"fsdp-1", {{"batch", "1536 sequences on 1000 ranks", "choose a multiple"}}}};
  page.budget = {"3,000,000 GPU-hours and 200 days",
                 "The fastest run takes 1,930,000 GPU-hours and keeps both limits.", 3e6, 412345,
                 1.2e6};
  page.provenance = {{"experiment", "experiments/200b.lua"}, {"commit", "9ff58ce"}};
  page.attachments = {{"experiments/200b.lua", "return experiment {\n  name = \"200b\",\n}\n"}};
  return page;
}

// As many runs as a large sweep has, of four strategies.
inline Page many(int count) {
  Page page;
  page.title = "sweep";
  const std::vector<std::string> names{"megatron", "deepspeed", "fsdp", "ddp"};
  for (int i = 0; i < count; ++i) {
    const double noise = std::fmod(i * 0.618034, 1.0);
    ChartShape shape{names[i % 4],
                     8LL << (i % 6),
                     1LL << (i % 3),
                     1,
                     1 + i % 4,
                     2048,
                     100 / (1.0 + i % 6) * (0.8 + noise)};
    auto run = described("sweep-" + std::to_string(i), shape);
    estimate(run, shape.step * (0.9 + 0.2 * std::fmod(i * 0.414, 1.0)), 20 + 70 * noise);
    if (i % 2 == 0) measure(run, shape.step, 20 + 68 * noise);
    if (i % 50 == 0) curve(run, 1500, 2 + noise);
    if (i % 97 == 5) run.doubts = {{"topology", "tp, pp, dp", "TP 2 x PP 1 x DP 3 is not 8 GPUs"}};
    page.records.push_back(run);
  }
  for (int i = 0; i < count; ++i)
    page.rejected.push_back({"rejected-" + std::to_string(i),
                             {{"layout", std::to_string(i) + " ranks on 8 GPUs", "mend it"}}});
  return page;
}

// Only estimates, only a table's numbers, only what a log says.
inline Page plans() {
  Page page;
  page.title = "plans";
  for (int i = 0; i < 3; ++i) {
    auto run = described("plan-" + std::to_string(i), {"fsdp", 8LL << i, 1, 1, 1, 512, 0});
    estimate(run, 40.0 / (1 + i), 50);
    page.records.push_back(run);
  }
  return page;
}

// A search on as many GPUs as there are: what differs is how they are used.
inline Page same_size() {
  Page page;
  page.title = "200b";
  page.doc = "a 200B GPT on 48 nodes of 8 A100-80GB";
  for (int i = 0; i < 30; ++i) {
    const ChartShape shape{i % 3 == 2 ? "fsdp" : "megatron",
                           384,
                           4 + i % 2 * 4,
                           6 + i % 4 * 2,
                           1 + i % 2,
                           1536,
                           100.0 + 4 * i};
    auto run = described("run-" + std::to_string(i), shape);
    estimate(run, shape.step, 50 + i);
    if (i % 4 == 1) measure(run, shape.step * 1.03, 50 + i);
    page.records.push_back(run);
  }
  return page;
}

// A sweep of one strategy by three parameters, of another by two: each of them adds to the time.
inline Page sweep() {
  Page page;
  page.title = "sweep";
  const auto add = [&](const ChartShape& shape, double memory) {
    auto run = described("s-" + std::to_string(page.records.size()), shape);
    estimate(run, shape.step, memory);
    if (page.records.size() % 5 == 3) measure(run, shape.step * 0.95, memory);
    page.records.push_back(run);
  };
  for (const std::int64_t tensor : {1, 2, 4, 8})
    for (const std::int64_t pipeline : {1, 2, 4})
      for (const std::int64_t micro : {1, 2})
        if (tensor != 8 || pipeline != 4)
          add({"megatron", 64, tensor, pipeline, micro, 512,
               static_cast<double>(10 + 3 * tensor + 2 * pipeline + 5 * micro)},
              tensor * pipeline == 1 ? 100 : 40);
  for (const std::int64_t tensor : {1, 2})
    for (const std::int64_t pipeline : {1, 2})
      add({"alpa", 64, tensor, pipeline, 1, 512, static_cast<double>(40 + tensor + pipeline)}, 30);
  add({"fsdp", 64, 1, 1, 1, 512, 45}, 30);
  return page;
}

// Configurations of two strategies that must not be taken for one that scales.
inline Page families() {
  Page page;
  page.title = "families";
  const auto add = [&](const ChartShape& shape) {
    auto run = described("f-" + std::to_string(page.records.size()), shape);
    measure(run, shape.step, 40);
    page.records.push_back(run);
  };
  // Strong: 4x the GPUs in 20 s instead of 64 s is 3.2 times as fast, 80 % of each GPU.
  add({"megatron", 8, 2, 1, 1, 512, 64});
  add({"megatron", 16, 2, 1, 1, 512, 36});
  add({"megatron", 32, 2, 1, 1, 512, 20});
  add({"megatron", 64, 4, 1, 1, 512, 6});  // another layout, and faster than all of these
  // Weak: twice the GPUs and the batch in 11 s instead of 10 s are 91 % of each GPU.
  add({"ddp", 8, 1, 1, 4, 64, 10});
  add({"ddp", 16, 1, 1, 4, 128, 11});
  add({"ddp", 32, 1, 1, 4, 32768, 600});  // accumulates 256 times, the others 2
  // Nothing to compare: neither the batch nor what a rank does is the same.
  add({"fsdp", 8, 1, 1, 4, 64, 10});
  add({"fsdp", 16, 1, 1, 4, 256, 22});
  return page;
}

// How a run ended says nothing of the speed of its steps.
inline Page ended() {
  Page page;
  page.title = "ended";
  const auto add = [&](const char* id, double step, record::RunState state,
                       record::Failure failure) {
    auto run = described(id, {"megatron", 8, 2, 1, 1, 512, step});
    measure(run, step, 40);
    run.state = state;
    run.failure = failure;
    page.records.push_back(run);
    return &page.records.back();
  };
  using record::Failure;
  using record::RunState;
  page.records.reserve(8);
  add("limit", 20, RunState::failed, Failure::timeout);
  add("node", 21, RunState::failed, Failure::node);
  add("stopped", 22, RunState::stopped, Failure::none);
  add("full", 10, RunState::failed, Failure::gpu_memory);
  add("odd", 11, RunState::finished, Failure::none)->doubts = {{"repeat", "step_seconds", "11 s"}};
  add("first", 18, RunState::finished, Failure::none)->doubts = {
      {"disagree", "step_seconds", "18 s where the same configuration has 30 (second)"}};
  add("second", 30, RunState::finished, Failure::none)->doubts = {
      {"disagree", "step_seconds", "30 s where the same configuration has 18 (first)"}};
  auto& early = *add("early", 12, RunState::failed, Failure::node);
  early.measured = {};
  estimate(early, 12, 40);
  return page;
}

// One configuration three times, which only ids distinguish, and two others; on 192 and 384 GPUs.
inline Page repeats() {
  Page page;
  page.title = "repeats";
  const auto add = [&](const std::string& id, const ChartShape& shape) {
    page.records.push_back(described("gpt-" + id, shape));
    measure(page.records.back(), shape.step, 60);
  };
  add("megatron-384gpu-tp8-pp6-dp8-mb2-00000001", {"megatron", 384, 8, 6, 2, 1536, 108});
  add("megatron-384gpu-tp8-pp6-dp8-mb2-r2-00000002", {"megatron", 384, 8, 6, 2, 1536, 104});
  add("megatron-384gpu-tp8-pp6-dp8-mb2-r3-00000003", {"megatron", 384, 8, 6, 2, 1536, 112});
  add("megatron-384gpu-tp4-pp12-dp8-mb2-00000004", {"megatron", 384, 4, 12, 2, 1536, 52});
  add("megatron-192gpu-tp8-pp6-dp4-mb2-00000005", {"megatron", 192, 8, 6, 2, 1536, 208});
  add("fsdp-192gpu-tp1-pp1-dp192-mb1-00000006", {"fsdp", 192, 1, 1, 1, 1536, 300});
  for (const std::size_t i : {0u, 3u}) curve(page.records[i], 300, 2);
  page.records[1].set("seed", std::int64_t{2});
  return page;
}

// Six estimates of one strategy, of which five cannot be told apart, and a measured one.
inline Page ties() {
  Page page;
  page.title = "ties";
  const auto add = [&](double step, bool measured) {
    const auto pipeline = std::int64_t{1} << page.records.size() % 4;
    auto run = described("tie-" + std::to_string(page.records.size()),
                         {"megatron", 64, 8, pipeline, 1, 512, step});
    estimate(run, step, 60 - step / 10);
    run.estimated->days_to_train = run.estimated->days_per_100b_tokens;
    if (measured) measure(run, step, 50);
    page.records.push_back(run);
  };
  for (const double step : {100.0, 101.0, 300.0, 102.0, 103.0, 104.0}) add(step, false);
  add(102.5, true);
  return page;
}

inline Page published() {
  Page page;
  page.title = "a published table";
  for (int i = 0; i < 4; ++i) {
    Record row;
    row.id = "row-" + std::to_string(i);
    row.source = "paper";
    row.table = "table-1";
    row.set("framework", std::string("fsdp"));
    row.set("gpus", std::int64_t{8});
    row.measured.days_per_100b_tokens = 200.0 - 10 * i;
    row.state = record::RunState::finished;
    page.records.push_back(row);
  }
  return page;
}

inline Page logs() {
  Page page;
  page.title = "logs";
  for (int i = 0; i < 2; ++i) {
    auto run = described("main.out#" + std::to_string(i), {"megatron", 8, 1, 1, 1, 512, 0});
    run.origin.kind = "log";
    run.state = record::RunState::running;
    curve(run, 5000, 2.5, false);
    page.records.push_back(run);
  }
  return page;
}

// A text that breaks whatever does not escape it.
inline const std::string kHostile =
    std::string(
        "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
        "<!--&amp;\x1b[31mred\x1b[0m\xff\xfe \xe2\x80\xa8 \xe2\x80\xae") +
    std::string(1, '\0') + "${alert(3)}]]>";

inline Page hostile() {
  auto page = full();
  const auto bad = kHostile;
  page.title = page.doc = page.command = page.created = bad;
  for (auto& run : page.records) {
    run.id += bad;
    run.source = run.table = run.reason = run.notes = run.not_estimated = bad;
    for (auto& field : run.fields)
      if (std::holds_alternative<std::string>(field.value)) field.value = bad;
    run.fields.push_back({bad, bad});
    run.origin = {bad, bad, 1, 2, bad, 1e9, 2e9, bad, bad, bad, bad, bad, {bad}, {{bad, bad}}};
    run.doubts.push_back({bad, bad, bad});
    run.measured.window.rule = run.measured.step_seconds_from = run.measured.peak_memory_from = bad;
    run.measured.odd_nodes = {{bad, 1, 2, bad}};
    for (auto& found : run.measured.tflops) found.convention = bad;
    for (auto& item : run.measured.time_items) item.name = item.kind = bad;
  }
  page.records[0].doubts.clear();  // so that one counts, and charts are drawn
  page.records[1].doubts.clear();
  page.records[0].notes = std::string(1 << 20, 'x');
  page.records[1].measured.peak_memory_bytes = std::nan("");
  page.records[2].measured.step_seconds = statistics::Interval{INFINITY, -1, 0, 3};
  page.rejected.push_back({bad, {{bad, bad, bad}, {bad, bad, ""}}});
  page.budget.limits = page.budget.verdict = bad;
  page.provenance.emplace_back(bad, bad);
  page.attachments.push_back({bad, bad + std::string(1 << 20, 'y')});
  return page;
}

}  // namespace orch::page::test

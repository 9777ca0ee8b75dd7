#include "tests/price/backend/support.h"

namespace orch::test::megatron_work_test {
namespace {

struct Flops {
  double forward = 0, step = 0;
};

// One rank's floating-point operations in one block: forward, and all passes of a micro-batch.
Flops flops_of(const backend::Work& work, const backend::Block& in) {
  Flops sum;
  for (std::size_t i = in.first_op; i < in.first_op + in.n_ops; ++i) {
    const auto& data = work.ops[i].data;
    if (data.kind != ORCH_GEMM && data.kind != ORCH_ATTENTION) continue;
    sum.forward += backend::flops(data) * data.forward;
    sum.step += backend::flops(data) * (data.forward + data.recompute + data.backward);
  }
  return sum;
}

// Over all ranks and micro-batches.
double total_flops(const plan::Run& run, const backend::Work& work) {
  double sum = 0;
  for (const auto& range : work.stage_list)
    for (std::size_t b = 0; b < work.blocks.size(); ++b)
      sum += static_cast<double>(range.last - range.first + 1) *
             work.counts[range.first_count + b] * flops_of(work, work.blocks[b]).step;
  return sum * static_cast<double>(work.micro_batches) *
         static_cast<double>(run.layout.tensor_parallel * run.layout.data_parallel);
}

const SettingValues kNoPadding{{"vocab_multiple", number(1)}, {"engine", word("megatron")}};
constexpr double kLayer =
    403770240;  // (12h^2 + 7h) / 4 + 6h, in tensors that end at multiples of 64

}  // namespace

TEST_CASE("a layer's forward products are 24bsh^2/t + 4bs^2h/t operations", "[megatron]") {
  const double s = 2048, h = 11600;
  for (const std::int64_t t : {1, 2, 4, 8}) {
    const auto work = work_of(make_run("megatron", model_104b(), {t, 32, 1}, 2, 64));
    const double b = 2;
    const double expected = (24 * b * s * h * h + 4 * b * s * s * h) / static_cast<double>(t);
    CHECK(flops_of(work, block(work, "layer")).forward == Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("a step with full recomputation is the published count of operations", "[megatron]") {
  // 24 B s L h^2 * 4 * (1 + s/6h + V/16Lh), with the 104B written out.
  auto model = model_104b();
  model.vocab = 50260;  // divisible by 4
  const auto run = make_run("megatron", model, {4, 32, 2}, 1, 128, kNoPadding);
  const double B = 256, s = 2048, L = 64, h = 11600, V = 50260;
  const double expected = 96 * B * s * L * h * h * (1 + s / (6 * h) + V / (16 * L * h));
  CHECK(total_flops(run, work_of(run)) == Approx(expected).epsilon(1e-12));
}

TEST_CASE("without recomputation layers cost three quarters, the head the same", "[megatron]") {
  auto settings = kNoPadding;
  settings["recompute"] = word("none");
  const auto run = make_run("megatron", model_104b(), {1, 1, 1}, 1, 1, settings);
  const double s = 2048, L = 64, h = 11600, V = 50257;
  CHECK(total_flops(run, work_of(run)) ==
        Approx(3 * L * (24 * s * h * h + 4 * s * s * h) + 6 * s * h * V).epsilon(1e-12));
}

TEST_CASE("selective recomputation repeats attention only, flash attention does half",
          "[megatron]") {
  const auto selective = work_of(
      make_run("megatron", model_104b(), {4, 32, 1}, 1, 64, {{"recompute", word("selective")}}));
  CHECK(op(selective, "layer", "attention scores").recompute == 1);
  CHECK(op(selective, "layer", "QKV").recompute == 0);
  CHECK(op(selective, "layer", "attention scores").align == 145);
  const auto flash = work_of(make_run("megatron", model_104b(), {4, 32, 1}, 1, 64,
                                      {{"flash_attention", plan::Value(true)}}));
  CHECK(op(flash, "layer", "attention context").forward == 0.5);
  CHECK(op(flash, "layer", "attention context").backward == 1.25);
  CHECK(find_op(flash, "layer", "scores forward") == nullptr);
}

TEST_CASE("memory-bound bytes follow the measured forms", "[megatron]") {
  const auto run = make_run("megatron", model_104b(), {4, 32, 1}, 1, 64);
  const double sbh = 2048.0 * 11600;
  const auto work = work_of(run);
  CHECK(op(work, "layer", "norms, dropout, GELU forward").bytes == Approx(sbh * (22 + 20 / 4.0)));
  CHECK(op(work, "layer", "norms, dropout, GELU backward").bytes == Approx(sbh * (26 + 28 / 4.0)));
  const double scores = 80.0 / 4 * 2048 * 2048;
  CHECK(op(work, "layer", "scores forward").bytes == Approx((9 + 4) * scores));
  const auto unfused = work_of(make_run("megatron", model_104b(), {4, 32, 1}, 1, 64,
                                        {{"fused_kernels", plan::Value(false)}}));
  CHECK(op(unfused, "layer", "scores backward").bytes == Approx((33 + 8) * scores));
  CHECK(op(unfused, "layer", "norms, dropout, GELU forward").bytes ==
        Approx(2 * sbh * (22 + 20 / 4.0)));
  auto odd = model_104b();
  odd.seq = 4096;  // longer than the fused kernel supports: it is never used
  const auto fallen_back = work_of(make_run("megatron", odd, {4, 32, 1}, 1, 64));
  CHECK(op(fallen_back, "layer", "scores forward").bytes == Approx((27 + 4) * 4 * scores));
}

TEST_CASE("tensor parallelism all-reduces twice per pass; sequences gather and scatter",
          "[megatron]") {
  const auto work = work_of(
      make_run("megatron", model_104b(), {4, 32, 2}, 2, 64, {{"engine", word("megatron")}}));
  const auto& reduce = op(work, "layer", "tensor all-reduce");
  CHECK(reduce.bytes == 2 * 2048.0 * 2 * 11600);
  CHECK(reduce.forward == 2);
  CHECK(reduce.recompute == 2);
  const auto own = work_of(make_run("megatron", model_104b(), {4, 32, 2}, 2, 64));
  CHECK(op(own, "layer", "tensor all-reduce").recompute == 1);  // without the last product
  CHECK(op(own, "layer", "MLP down").recompute == 0);
  CHECK(op(own, "layer", "MLP up").recompute == 1);
  CHECK(reduce.backward == 2);
  CHECK(reduce.group_size == 4);
  CHECK(reduce.group_stride == 1);
  const auto sequence = work_of(make_run("megatron", model_104b(), {4, 32, 2}, 2, 64,
                                         {{"sequence_parallel", plan::Value(true)}}));
  CHECK(find_op(sequence, "layer", "tensor all-reduce") == nullptr);
  CHECK(op(sequence, "layer", "sequence all-gather").forward == 2);
  CHECK(op(sequence, "layer", "sequence reduce-scatter").backward == 2);
  double gathers = 0;  // of outputs, and again of inputs
  for (const auto& each : sequence.ops)
    if (each.name == "sequence all-gather") gathers += each.data.backward;
  CHECK(gathers == 4);
  CHECK(find_op(work_of(make_run("megatron", model_104b(), {1, 32, 1}, 2, 64)), "layer",
                "tensor all-reduce") == nullptr);
}

// With --tp-comm-overlap gathers and scatters overlap products; without it they do not.
TEST_CASE("Megatron may hide what sequence parallelism sends", "[megatron]") {
  const auto run = [](bool sequence, const char* engine) {
    return make_run("megatron", model_104b(), {4, 32, 2}, 2, 64,
                    {{"sequence_parallel", plan::Value(sequence)},
                     {"overlap_tensor", plan::Value(true)},
                     {"engine", word(engine)}});
  };
  const auto work = work_of(run(true, "megatron"));
  for (const auto* name : {"sequence all-gather", "sequence reduce-scatter"})
    CHECK(op(work, "layer", name).hidden == ORCH_HIDDEN);
  CHECK(problems_of(run(true, "megatron")).reasons.empty());
  CHECK(about(problems_of(run(false, "megatron")).warnings, "overlap_tensor").fix ==
        "try sequence_parallel = true");
  CHECK(has(about(problems_of(run(true, "orch")).reasons, "overlap_tensor").fix,
            "engine = 'megatron'"));
}

TEST_CASE("ranks run tensor fastest, then data, then pipeline", "[megatron]") {
  const auto work = work_of(make_run("megatron", model_104b(), {4, 8, 2}, 1, 64,
                                     {{"fp32_accumulate", plan::Value(true)}}));
  const auto& reduce = op(work, "layer", "gradient all-reduce");
  CHECK(reduce.group_size == 2);
  CHECK(reduce.group_stride == 4);
  CHECK(reduce.bytes == 4 * kLayer);
  const auto& tied = op(work, "LM head", "tied embedding all-reduce");
  CHECK(tied.group_size == 2);
  CHECK(tied.group_stride == 4 * 2 * 7);
  CHECK(tied.step == 1);
  CHECK(op(work, "to next stage", "send activations").group_stride == 8);
}

TEST_CASE("ZeRO-1 scatters gradients and gathers weights instead", "[megatron]") {
  const auto work =
      work_of(make_run("megatron", model_104b(), {4, 8, 2}, 1, 64,
                       {{"zero_stage", number(1)}, {"fp32_accumulate", plan::Value(true)}}));
  CHECK(op(work, "layer", "gradient reduce-scatter").bytes == 4 * kLayer);
  CHECK(op(work, "layer", "weight all-gather").bytes == 2 * kLayer);
  // Each end adds up the half of the embedding that it updates: 50,688 rows of 11,600, over four
  // ranks.
  CHECK(op(work, "embedding", "tied embedding all-reduce").bytes == 4 * 50688 / 4 * 11600.0 / 2);
  const auto deepspeed =
      work_of(make_run("megatron", model_104b(), {4, 8, 2}, 1, 64,
                       {{"zero_stage", number(1)}, {"engine", word("deepspeed")}}));
  CHECK(op(deepspeed, "layer", "gradient reduce-scatter").bytes == 2 * 403717700.0);
}

TEST_CASE("stages of the same content form one range", "[megatron]") {
  const auto work = work_of(make_run("megatron", model_104b(), {4, 32, 1}, 1, 64));
  REQUIRE(work.stage_list.size() == 3);
  CHECK(work.stage_list[1].first == 1);
  CHECK(work.stage_list[1].last == 30);
  auto model = model_104b();
  model.layers = 78;
  const auto uneven = work_of(
      make_run("megatron", model, {1, 12, 1}, 1, 64, {{"partition_rule", word("portions")}}));
  REQUIRE(uneven.stage_list.size() == 3);
  CHECK(uneven.counts[uneven.stage_list[0].first_count] == 7);
  CHECK(uneven.counts[uneven.stage_list[2].first_count] == 1);
}

TEST_CASE("texts are left out unless asked for, numbers are the same", "[megatron]") {
  const auto run = make_run("megatron", model_104b(), {4, 32, 1}, 1, 64);
  const auto explained = work_of(run);
  backend::Work quick;
  REQUIRE(built_in().of(*run.strategy).work(run, backend::WorkTexts::none, quick));
  REQUIRE(quick.ops.size() == explained.ops.size());
  for (std::size_t i = 0; i < quick.ops.size(); ++i) {
    CHECK(quick.ops[i].name.empty());
    CHECK_FALSE(explained.ops[i].formula.empty());
    CHECK(quick.ops[i].data.bytes == explained.ops[i].data.bytes);
  }
  REQUIRE(quick.memory.size() == explained.memory.size());
}

}  // namespace orch::test::megatron_work_test

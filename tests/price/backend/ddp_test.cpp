#include "core/plan/family.h"
#include "tests/price/backend/support.h"

namespace orch::test::ddp_test {
namespace {

const plan::Model kBloom = plan::sized("bloom", "bloom-7b", 30, 4096, 32, 250880, 1024);
const double kLayer = 12.0 * 4096 * 4096 + 13 * 4096;

plan::Run ddp(const SettingValues& settings = {}, std::int64_t accumulate = 256) {
  return make_run("ddp", kBloom, {1, 1, 16}, 2, accumulate, settings);
}

const SettingValues kPowerSgd{{"compression", word("powersgd")}, {"powersgd_rank", number(4)}};
const SettingValues kHook{
    {"compression", word("powersgd")}, {"powersgd_rank", number(4)}, {"engine", word("framework")}};

}  // namespace

TEST_CASE("gradients are reduced once per step, in buckets, under the last backward", "[ddp]") {
  const auto work = work_of(ddp());
  const auto& reduce = op(work, "layer", "gradient all-reduce");
  CHECK(reduce.bytes == 4 * kLayer);
  CHECK(reduce.step == 1);
  CHECK(reduce.backward == 0);
  CHECK(reduce.hidden == 1);
  CHECK(reduce.calls == Approx(4 * kLayer / (25 * 1048576.0)));
  const auto half = work_of(ddp({{"compression", word("bf16")}}));
  CHECK(op(half, "layer", "gradient all-reduce").bytes == 2 * kLayer);
  CHECK(op(half, "layer", "gradient casts").bytes == 12 * kLayer);
}

TEST_CASE("PowerSGD sends its factors and the vectors whole", "[ddp]") {
  const auto work = work_of(ddp(kPowerSgd));
  // (n + m) r of QKV, out, up and down: 4h, 2h, 5h and 5h times 4.
  CHECK(op(work, "layer", "PowerSGD factors all-reduce").bytes == 4 * (4 + 2 + 5 + 5) * 4096.0 * 4);
  // PyTorch's hook: 0.45 of the 12h^2 weights, as measured.
  CHECK(op(work_of(ddp(kHook)), "layer", "PowerSGD factors all-reduce").bytes ==
        Approx(4 * 0.45 * 12 * 4096.0 * 4096));
  CHECK(op(work, "layer", "uncompressed gradient all-reduce").bytes == 4 * 13.0 * 4096);
  const auto& products = op(work, "layer", "PowerSGD products");
  CHECK(backend::flops(products) * products.step == 3 * 2 * (3.0 * 4096) * 4096 * 4);
  CHECK(memory(work, 0, "PowerSGD error feedback") ==
        4 * (30 * 12.0 * 4096 * 4096 + 250880.0 * 4096));
}

TEST_CASE("PowerSGD compresses words and positions", "[ddp]") {
  const auto gpt = plan::sized("gpt", "tiny", 4, 128, 4, 512, 128);
  const auto work =
      work_of(make_run("ddp", gpt, {1, 1, 4}, 2, 2,
                       {{"compression", word("powersgd")}, {"powersgd_rank", number(2)}}));
  const char* ends = "embedding and LM head";
  CHECK(op(work, ends, "PowerSGD factors all-reduce").bytes == 4 * 2 * ((512 + 128) + (128 + 128)));
  CHECK(op(work, ends, "uncompressed gradient all-reduce").bytes == 4 * 2 * 128);  // the last norm
  CHECK(op(work, ends, "norm and loss all-reduce").bytes == 24);
}

TEST_CASE("a matrix that hardly shrinks is sent whole", "[ddp]") {
  // (n + m) r rate < n m fails for h x h from r = h / 4 on, for 4h x h from 2h / 5 on.
  auto settings = kHook;
  settings["powersgd_rank"] = number(1024);
  const auto work = work_of(ddp(settings));
  // QKV: 4h * h/4 of factors are less than 0.45 * 3h^2; up and down: 5h * h/4 less than 0.45 *
  // 4h^2.
  CHECK(op(work, "layer", "PowerSGD factors all-reduce").bytes ==
        Approx(4 * 0.45 * (3 + 4 + 4) * 4096.0 * 4096));
  CHECK(op(work, "layer", "uncompressed gradient all-reduce").bytes ==
        4 * (4096.0 * 4096 + 13 * 4096));
  settings["powersgd_rank"] = number(1639);
  CHECK(has(about(problems_of(ddp(settings)).warnings, "powersgd_rank").fact, "sent whole"));
  settings["powersgd_rank"] = number(1638);
  CHECK(problems_of(ddp(settings)).warnings.empty());
}

TEST_CASE("every rank keeps all states", "[ddp]") {
  const double params = kBloom.params();
  const auto states = [](const backend::Work& work) {
    return memory(work, 0, "weights") + memory(work, 0, "gradients") +
           memory(work, 0, "optimizer states");
  };
  CHECK(states(work_of(ddp())) == 18 * params);
  CHECK(states(work_of(ddp({{"dtype", word("fp32")}}))) == 16 * params);
  CHECK(states(work_of(ddp({{"master_weights", plan::Value(false)}}))) == 8 * params);
  CHECK(states(work_of(ddp({{"optimizer", word("adafactor")}}))) ==
        Approx(10 * params).epsilon(0.001));
}

TEST_CASE("what slows data parallelism down is warned of", "[ddp]") {
  CHECK(has(about(problems_of(ddp({}, 1)).warnings, "accumulate").fact,
            "every micro-batch sends 28.3 GB of gradients over 2 nodes"));
  auto early = kPowerSgd;
  early["powersgd_start"] = number(1);
  CHECK(has(about(problems_of(ddp(early)).reasons, "powersgd_start").fix, "= 10"));
  const auto idle =
      problems_of(ddp({{"compression", word("bf16")}, {"master_weights", plan::Value(false)}}));
  CHECK(has(about(idle.warnings, "compression").fact, "16 bits already"));
  CHECK(problems_of(ddp()).warnings.empty());
}

}  // namespace orch::test::ddp_test

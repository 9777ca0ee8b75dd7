// Local SGD: every rank trains by itself and the weights are averaged every n steps.

#include <orch/spec.h>

#include <array>

using namespace orch::backend;

constexpr orch::plan::Integer kPeriod{"period", "steps between averages", 8, {1, 10000}};
constexpr orch::plan::ChoiceSetting kDtype{"dtype", "of the products", {"bf16", "fp32"}};

// Outside any namespace, and with the name that other backends use: they must not be mixed up.
class LocalSgdSpec final : public BackendSpec {
 public:
  std::string name() const override { return "local_sgd"; }
  std::string version() const override { return "2.1"; }
  std::string doc() const override { return "Replicas that meet now and then"; }
  std::vector<StrategySpec> strategies() const override {
    return {{"local_sgd", "weights averaged every few steps", {kPeriod, kDtype}}};
  }
  void check(const BackendRun& run, ProblemSink& problems) const override {
    check_attention(run, transformer(run), problems);
    if (run->data_parallel == 1)
      problems.reject("gpus", "one rank has nobody to meet", "try gpus = 2");
  }
  void work(const BackendRun& run, WorkSink& sink) const override {
    const auto model = transformer(run.model(), run->micro_batch);
    orch_schedule schedule{};
    schedule.stages = schedule.chunks = 1;
    schedule.micro_batches = run->accumulate;
    schedule.dtype = kDtype(run).data();
    sink.schedule(schedule);
    sink.block("layer");
    emit_layer(model, sink);
    const double share = 1 / static_cast<double>(kPeriod(run));
    sink.op(during(collective("average", ORCH_ALL_REDUCE, 2 * model.layer_params(),
                              {run->data_parallel, 1}),
                   {0, 0, 0, share}),
            [&] { return say("every ", kPeriod(run), " steps"); });
    sink.block("LM head");
    emit_head(model, sink);
    sink.stages(0, 0, std::array{model.layers, 1.0});
    sink.memory("weights", 0, 0, 2 * model.layers * model.layer_params(),
                [&] { return say("2 B x ", model.layers * model.layer_params(), " params"); });
  }
};

ORCH_BACKEND(LocalSgdSpec)

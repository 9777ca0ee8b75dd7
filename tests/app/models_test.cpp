#include "core/base/text.h"
#include "core/plan/family.h"
#include "core/record/planned.h"
#include "tests/app/desk.h"

using namespace orch;
using app::Exit;

namespace {

app::ModelArguments model(const std::string& name, int tensor_parallel, int pipeline_parallel) {
  app::ModelArguments out;
  out.name = name;
  out.tensor_parallel = tensor_parallel;
  out.pipeline_parallel = pipeline_parallel;
  return out;
}

}  // namespace

TEST_CASE("models have the sizes that their sources print", "[app]") {
  const Desk desk;
  app::ModelArguments all;
  all.common.format = "json";
  const auto said = desk(app::models_command, all);
  REQUIRE(said.exit == Exit::ok);
  std::map<std::string, double> sizes;
  const auto document = said.json();
  for (const auto& one : document["models"]) sizes[one["name"]] = one["params"];
  // layers*(12h^2+13h) + vocab*h + seq*h + 2h, in billions.
  for (const auto& [name, billions] : std::map<std::string, int>{{"gpt-145b", 146},
                                                                 {"gpt-310b", 310},
                                                                 {"gpt-530b", 530},
                                                                 {"gpt-199b", 199},
                                                                 {"gpt-206b", 206},
                                                                 {"gpt-106x12288", 195},
                                                                 {"gpt-100x12288", 184},
                                                                 {"gpt-82x13312", 178},
                                                                 {"gpt-94x13312", 203},
                                                                 {"gpt-70x14336", 176},
                                                                 {"gpt-82x14336", 206},
                                                                 {"gpt-104b", 104},
                                                                 {"gpt-1.3b", 1}}) {
    INFO(name);
    CHECK(std::lround(sizes.at(name) / 1e9) == billions);
  }
  CHECK(std::lround(sizes.at("gpt-1.3b") / 1e7) == 132);
  // Of the published weights.
  for (const auto& [name, count] : std::map<std::string, double>{{"llama-3-8b", 8'030'261'248},
                                                                 {"llama-3.1-70b", 70'553'706'496},
                                                                 {"qwen2-0.5b", 494'032'768},
                                                                 {"qwen2-1.5b", 1'543'714'304},
                                                                 {"qwen2-7b", 7'615'616'512},
                                                                 {"qwen2-72b", 72'706'203'648},
                                                                 {"qwen2.5-3b", 3'085'938'688},
                                                                 {"qwen2.5-14b", 14'770'033'664},
                                                                 {"qwen2.5-32b", 32'763'876'352},
                                                                 {"qwen3-1.7b", 1'720'574'976},
                                                                 {"qwen3-4b", 4'022'468'096},
                                                                 {"qwen3-14b", 14'768'307'200},
                                                                 {"qwen3-32b", 32'762'123'264}}) {
    INFO(name);
    CHECK(sizes.at(name) == count);
  }
}

TEST_CASE("the parts of a model per GPU are those of its published table", "[app]") {
  const Desk desk;
  auto asked = model("gpt-104b", 4, 32);  // 18 bytes per parameter
  auto said = desk(app::models_command, asked);
  for (const auto* number : {"582,981,200", "145,745,300", "1,614,870,800", "403,717,700",
                             "807,435,400", "14,533,837,200", "953,180,700", "17,157,252,600"})
    CHECK(said.has(number));
  asked.common.format = "json";
  const auto parts = desk(app::models_command, asked).json()["parts"];
  CHECK(parts[2]["bytes_per_gpu"] == 14533837200);
  CHECK(parts[3]["params_per_gpu"] == 953180700);
  // Four layers of the 206B on a GPU, and its embedding.
  said = desk(app::models_command, model("gpt-206b", 4, 24));
  for (const auto* number :
       {"2,000,221,184", "500,055,296", "531,671,296", "2,126,685,184", "38,280,333,312"})
    CHECK(said.has(number));
}

TEST_CASE("a training time is 8 N T / rate", "[app]") {
  const Desk desk;
  app::ModelArguments asked;
  asked.params = 200e9;
  asked.tokens = 300e9;
  asked.gpus = 350;
  asked.tflops = 150;
  const auto said = desk(app::models_command, asked);
  CHECK(said.has("105.82 days"));
  CHECK(said.has("888,888.89 GPU-hours"));
  asked.common.format = "json";
  CHECK(desk(app::models_command, asked).json()["training"]["days"].get<double>() ==
        Approx(8 * 300e9 * 200e9 / (350 * 150e12) / 86400));
  asked.tflops = 0;
  const auto wrong = desk(app::models_command, asked);
  CHECK(wrong.exit == Exit::usage);
  CHECK(wrong.notes_have("needs --tokens and --tflops"));
}

TEST_CASE("lists of models, clusters and backends come in all formats and guess at typos",
          "[app]") {
  const Desk desk;
  for (const auto* format : {"table", "md", "json"}) {
    app::ModelArguments models;
    app::ListArguments list;
    models.common.format = list.common.format = format;
    CHECK(desk(app::models_command, models).has("gpt-1.3b"));
    CHECK(desk(app::clusters_command, list).has("jean-zay"));
    CHECK(desk(app::backends_command, list).has("tensor_parallel"));
  }
  CHECK(desk(app::models_command, model("gpt-104", 1, 1)).notes_have("did you mean 'gpt-104b'?"));
  const auto cluster = desk(app::clusters_command, app::ListArguments{{}, "jeanzay"});
  CHECK(cluster.exit == Exit::error);
  CHECK(cluster.notes_have("did you mean 'jean-zay'?"));
  const auto backend = desk(app::backends_command, app::ListArguments{{}, "megatorn"});
  CHECK(backend.exit == Exit::error);
  CHECK(backend.notes_have("did you mean 'megatron'?"));
}

TEST_CASE("words for completions are the names of a kind", "[app]") {
  const Desk desk;
  CHECK(contains(app::names_of("clusters", ""), "jean-zay"));
  CHECK(contains(app::names_of("strategies", ""), "fsdp"));
  CHECK(contains(app::names_of("models", ""), "gpt-1.3b"));
  CHECK(app::names_of("runs", desk.runs()).empty());
}

TEST_CASE("doctor says what is shipped and what is not here", "[app]") {
  const Desk desk;
  app::DoctorArguments asked;
  asked.runs = desk.runs();
  asked.common.format = "json";
  const auto document = desk(app::doctor_command, asked).json();
  std::map<std::string, std::string> found;
  for (const auto& check : document["checks"]) found[check["what"]] = check["found"];
  std::size_t clusters = 0;
  for (const auto& file : fs::directory_iterator(shipped("clusters")))
    clusters += file.path().extension() == ".yaml" ? 1 : 0;
  CHECK(found.at("clusters") == std::to_string(clusters) + " shipped");
}

TEST_CASE("a model is named after its size, and what no trainer trains is not started", "[app]") {
  const Desk desk;
  const std::string hardware = R"(hardware = { cluster = "dgx-h100", gpus = 8 }, )";
  app::PlanArguments own;
  own.options.runs = desk.runs();
  own.source.file = desk.file("own.lua", R"(return experiment {
    model = gpt { layers = 112, hidden = 12288, heads = 96, vocab = 150257, seq = 2048 },
    hardware = { cluster = "jean-zay", partition = "a100-80g", nodes = 48 },
    batch = { global_batch = 2048 },
    strategies = { megatron { tensor_parallel = 8, pipeline_parallel = 12 } } })");
  CHECK(desk(app::plan_command, own).has("gpt-205b"));

  own.source.file = desk.file("circle.lua", "return experiment { " + hardware +
                                                R"(strategies = { ddp {} },
    model = llama { layers = 2, hidden = 64, heads = 4, vocab = 100, seq = 16,
                    tied = function(r) return r.params > 1e9 end } })");
  const auto circle = desk(app::plan_command, own);
  CHECK(circle.has("model.tied: depends on itself"));
  CHECK_FALSE(circle.has("variant"));

  app::RunArguments run;
  run.yes = true;
  run.plan = own;
  run.plan.source.file = desk.file("dealt.lua", "return experiment { " + hardware +
                                                    R"(strategies = { fsdp {}, megatron {} },
    model = moe { layers = 2, hidden = 64, heads = 4, vocab = 100, seq = 16, experts = 4,
                  experts_per_token = 2, expert_parallel = 2 } })");
  const auto dealt = desk(app::plan_command, run.plan);
  CHECK(dealt.exit == Exit::ok);
  CHECK(dealt.has("all megatron: expert_parallel=2"));
  CHECK(dealt.has("fsdp has no expert parallelism"));
  CHECK(dealt.has(
      "moe models are planned and estimated, not trained"));  // before anything is rendered
  const auto started = desk(app::run_command, run);
  CHECK(started.exit == Exit::error);
  CHECK(started.has("moe models are planned and estimated, not trained"));
  run.take = 1;  // of those that can be trained
  run.plan.source.file =
      desk.file("formats.lua", "return experiment { " + hardware + R"(model = "gpt-1.3b",
    strategies = { megatron { dtype = { "fp8", "bf16" } } } })");
  const auto rest = desk(app::run_command, run);
  CHECK(rest.has("left out: "));
  CHECK(rest.has("fp8 is planned and estimated, not trained"));
  CHECK_FALSE(rest.has("stopped here"));
}

// A line in gpus.yaml is enough for a new number format.
TEST_CASE("a number format is planned where a GPU has its peak", "[app]") {
  const Desk desk;
  desk.file("gpus.yaml",
            "next: { like: h100-80g, peak: { fp6: { value: 3000 TFLOPs, origin: o } } }\n");
  desk.file("clusters/soon.yaml",
            "name: soon\nlike: dgx-h100\npartitions:\n  - { name: h100-80g, gpu: next }\n");
  app::PlanArguments plan;
  plan.common.format = "json";
  const auto planned = [&](const std::string& cluster, const std::string& formats) {
    plan.source.file =
        desk.file(cluster + ".lua",
                  "return experiment { model = \"llama-3-8b\", batch = { global_batch = 64 }, "
                  "hardware = { cluster = \"" +
                      cluster +
                      "\", nodes = 1 }, strategies = { megatron { "
                      "recompute = \"full\", tensor_parallel = 8, dtype = " +
                      formats + " } } }");
    return desk(app::plan_command, plan);
  };
  const auto soon = planned("soon", R"({ "fp6", "fp8", "bf16" })");
  REQUIRE(soon.exit == Exit::ok);
  std::vector<std::string> ranked;
  const auto document = soon.json();
  for (const auto& run : document["runs"]) ranked.push_back(run["dtype"]);
  CHECK(ranked == std::vector<std::string>{"fp6", "fp8", "bf16"});
  plan.common.format = "table";
  CHECK(planned("dgx-h100", R"("fp6")").has("h100-80g cannot compute in fp6"));
  CHECK(planned("dgx-h100", R"("fp99")").notes_have("no choice"));
}

// 4,060 GPU-hours: 16 GPUs take fewer than 256.
TEST_CASE("the answer keeps a limit that something keeps, and says whose memory is short",
          "[app]") {
  const Desk desk;
  app::PlanArguments plan;
  const auto limited = [](const std::string& hours) {
    return R"(return experiment { model = "llama-3-8b", hardware = { cluster = "dgx-h100", gpus = { 16, 256 } },
      tokens = 1e11, budget = { gpu_hours = )" +
           hours + R"( }, batch = { micro_batch = 1, global_batch = 256 },
      strategies = { fsdp { recompute = "full", flash_attention = true } } })";
  };
  plan.common.format = "json";
  plan.source.file = desk.file("all.lua", limited("1e6"));
  const auto runs = desk(app::plan_command, plan).json()["runs"];
  REQUIRE(runs.size() == 2);
  REQUIRE(runs[0]["gpus"] == 256);  // the faster
  const double less = runs[1]["gpu_hours"], more = runs[0]["gpu_hours"];
  REQUIRE(less < more);
  plan.common.format = "table";
  plan.source.file = desk.file("some.lua", limited(std::to_string((less + more) / 2)));
  const auto said = desk(app::plan_command, plan);
  CHECK(said.has("on 16 GPUs is best"));
  CHECK(said.has("the fastest, fsdp (micro-batch 1) on 256 GPUs, breaks the limit of"));

  plan.source.file = desk.file("host.lua", R"(return experiment { model = "gpt-175b",
    hardware = { cluster = "h200", gpus = 1 }, batch = { micro_batch = 1, global_batch = 8 },
    strategies = { zero3 { offload = "full", recompute = "full", offload_activations = true } } })");
  const auto host = desk(app::plan_command, plan);
  CHECK(host.has("oom on the host"));
  CHECK(host.has("GiB on the host."));
}

TEST_CASE("models of one name are told apart by the sizes in which they differ", "[app][models]") {
  Desk desk;
  app::PlanArguments plan;
  plan.source.file = desk.file("queries.lua", R"(return experiment {
    model = { llama { layers = 2, hidden = 64, heads = 4, vocab = 100, seq = 16, kv_heads = 2 },
              llama { layers = 2, hidden = 64, heads = 4, vocab = 100, seq = 16 } },
    hardware = { cluster = "dgx-h100", gpus = 8 }, strategies = { ddp {} } })");
  const auto both = desk(app::plan_command, plan);
  CHECK(both.has("kv_heads"));
  CHECK_FALSE(both.has("ffn_hidden"));  // which they share
  plan.where = "kv_heads == 2";
  const auto one = desk(app::plan_command, plan);
  CHECK(one.has("1 run,"));
  plan.common.format = "json";
  const auto row = desk(app::plan_command, plan).json()["runs"][0];
  CHECK(row["kv_heads"] == 2);
  CHECK(row["tied"] == false);
  CHECK_FALSE(row.contains("rms_norm"));  // all of the family have the same

  const auto like = [](std::string_view family) {
    plan::Run run;
    run.strategy = std::make_shared<const plan::Strategy>();
    run.cluster = std::make_shared<const plan::Cluster>();
    static const plan::Partition kPartition;
    run.partition = &kPartition;
    run.model = plan::sized(family, "m", 2, 64, 4, 100, 16);
    record::Record record;
    record.fields = record::fields_of(run, false);
    return record;
  };
  CHECK(like("llama").whole("kv_heads") == 4);
  CHECK_FALSE(like("gpt").field("kv_heads"));
}

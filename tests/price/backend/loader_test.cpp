#include <unistd.h>

#include <array>
#include <fstream>

#include "core/price/backend/spec.h"
#include "tests/place.h"
#include "tests/price/backend/support.h"

namespace orch::test::loader_test {
namespace {

using backend::Backends;

std::string load_error(const std::vector<fs::path>& folders) {
  const auto loaded = Backends::load(folders);
  return loaded ? "" : text(loaded.error());
}

// The file name of a backend for this orch's ABI.
std::string file_of(const std::string& name) {
  return "orch-" + name + ".abi" + std::to_string(ORCH_ABI_MAJOR) + ".so";
}

std::string broken_error(const std::string& flaw) {
  return load_error({fs::path(ORCH_BROKEN_DIR) / flaw});
}

}  // namespace

TEST_CASE("the built-in backends offer their strategies through the plug-in door", "[backend]") {
  std::vector<std::string> names;
  for (const auto& strategy : built_in().strategies()) names.push_back(strategy->name);
  CHECK(names == std::vector<std::string>{"ddp", "megatron", "zero3", "fsdp", "deepspeed"});
  CHECK(built_in().of(*built_in().strategies()[3]).name() == "zero3");
}

TEST_CASE("a parameter of a choice names its parent and a required one has no default",
          "[backend]") {
  const auto strategies = built_in().strategies();
  const auto find = [&](const char* strategy, const char* name) {
    for (const auto& candidate : strategies)
      if (candidate->name == strategy)
        for (const auto& param : candidate->params)
          if (param.name == name) return param;
    FAIL(name);
    return plan::Param{};
  };
  const auto rank = find("ddp", "powersgd_rank");
  CHECK(rank.parent == "compression");
  CHECK(rank.choice == "powersgd");
  CHECK(rank.default_value == number(1));
  const auto stage = find("deepspeed", "stage");
  CHECK_FALSE(plan::is_given(stage.default_value));
  CHECK(stage.max == 3);
  CHECK(find("megatron", "stage_partition").choices ==
        std::vector<std::string>{"uniform", "transformer|embedding"});
}

TEST_CASE("a backend in plain C loads, checks and works", "[backend]") {
  const auto loaded = Backends::load({fs::path(ORCH_BROKEN_DIR) / "none"});
  REQUIRE(loaded);
  auto run = make_run("ddp", model_104b(), {1, 1, 16}, 1, 5);
  run.strategy = loaded->strategies().front();
  run.settings = {number(3)};
  ReportedProblems problems;
  loaded->of(*run.strategy).check(run, problems.reasons, problems.warnings);
  CHECK(problems.reasons == std::vector<Error>{{"gpus", "too many", "try gpus = 8"}});
  backend::Work work;
  REQUIRE(loaded->of(*run.strategy).work(run, backend::WorkTexts::formulas, work));
  CHECK(work.stages == 2);
  CHECK(work.micro_batches == 5);
  CHECK(work.dtype == "fp32");
}

namespace {

// A plug-in in C; `bytes` are those of its only item of memory.
double bytes = 1e9;

void warn(const orch_run* run, const orch_sink* sink) {
  sink->problem(sink->context, run->nodes > 4 ? ORCH_REJECT : ORCH_WARN, "nodes", "", "");
}

void tell_memory(const orch_run*, const orch_sink* sink) {
  const orch_memory memory{sizeof memory, ORCH_DEVICE, "weights", nullptr, 0, 0, bytes};
  sink->memory(sink->context, &memory);
}

void tell_work(const orch_run* run, const orch_sink* sink) {
  const double once = 1;
  const orch_stages stages{sizeof stages, 1, 0, 0, &once};
  const auto op = backend::during(backend::gemm("product", 1, 1, 1), {.forward = 1});
  sink->block(sink->context, "layer");
  sink->op(sink->context, &op);
  sink->stages(sink->context, &stages);
  if (sink->explain != ORCH_TIME) tell_memory(run, sink);
}

void tell_fit(const orch_run* run, const orch_sink* sink) {
  warn(run, sink);
  if (run->nodes <= 4) tell_memory(run, sink);
}

constexpr orch_strategy kPlain{"plain", "", nullptr, 0, sizeof(orch_param)};
constexpr orch_backend kOlder{offsetof(orch_backend, fit),
                              ORCH_ABI_MAJOR,
                              0,
                              "c",
                              "1",
                              "",
                              &kPlain,
                              1,
                              sizeof kPlain,
                              warn,
                              tell_work,
                              nullptr};

}  // namespace

TEST_CASE("a search asks a plug-in with fit once and an older one twice", "[backend]") {
  auto newer = kOlder;
  newer.struct_size = sizeof newer, newer.fit = tell_fit;
  auto run = make_run("ddp", model_104b(), {1, 1, 16}, 1, 5);
  for (const auto* description : {&kOlder, static_cast<const orch_backend*>(&newer)}) {
    const auto loaded = backend::Backend::from(description, "orch-c.abi3.so");
    REQUIRE(loaded);
    run.strategy = loaded->strategies().front();
    run.settings = {std::vector<plan::Value>()};
    run.nodes = 2;
    backend::ProblemTally tally;
    backend::Work work, whole;
    REQUIRE(loaded->fit(loaded->abi_run(run), tally, work));
    CHECK(tally.reasons == 0);
    CHECK(tally.warnings == 1);
    CHECK(tally.warning == "nodes");
    REQUIRE(loaded->work(run, backend::WorkTexts::none, whole));
    CHECK(work.memory.size() == 1);
    REQUIRE(loaded->add_time(loaded->abi_run(run), work));
    CHECK(work.memory.size() == 1);
    CHECK(work.ops.size() == whole.ops.size());
    CHECK(work.counts == whole.counts);
    run.nodes = 5;
    REQUIRE(loaded->fit(loaded->abi_run(run), tally, work));
    CHECK(tally.reasons == 1);
    CHECK(tally.reason == "nodes");
  }
}

TEST_CASE("invalid memory is the plug-in's error, not a reason to reject a run", "[backend]") {
  auto newer = kOlder;
  newer.struct_size = sizeof newer, newer.fit = tell_fit;
  auto run = make_run("ddp", model_104b(), {1, 1, 16}, 1, 5);
  const auto loaded = backend::Backend::from(&newer, "orch-c.abi3.so");
  REQUIRE(loaded);
  run.strategy = loaded->strategies().front();
  run.settings = {std::vector<plan::Value>()};
  backend::ProblemTally tally;
  backend::Work work;
  bytes = -1;
  const auto status = loaded->fit(loaded->abi_run(run), tally, work);
  bytes = 1e9;
  REQUIRE_FALSE(status);
  CHECK(has(text(status.error()), "orch-c.abi3.so: "));
  CHECK(has(text(status.error()), "has -1 bytes"));
}

TEST_CASE("work that leaves out a stage is refused", "[backend]") {
  const auto loaded = Backends::load({fs::path(ORCH_BROKEN_DIR) / "bad_work"});
  REQUIRE(loaded);
  auto run = make_run("ddp", model_104b(), {}, 1, 1);
  run.strategy = loaded->strategies().front();
  run.settings = {number(3)};
  backend::Work work;
  const auto status = loaded->of(*run.strategy).work(run, backend::WorkTexts::none, work);
  REQUIRE_FALSE(status);
  CHECK(has(text(status.error()), "the work of stage 1 of 2 is missing"));
}

TEST_CASE("each flaw of a plug-in is named with its file and the next step", "[backend]") {
  const auto check = [](const char* flaw, const std::string& fact) {
    const auto message = broken_error(flaw);
    INFO(message);
    CHECK(has(message, file_of(flaw) + ": "));
    CHECK(has(message, fact));
    CHECK(has(message, "\n  "));
  };
  check("no_entry", "has no function orch_backend_entry");
  check("null_backend", "declines to work with ABI " + std::to_string(ORCH_ABI_MAJOR) + "." +
                            std::to_string(ORCH_ABI_MINOR));
  check("wrong_major", "speaks ABI 4, this orch speaks ABI 3");
  check("small_struct", "describes itself in 16 bytes");
  check("null_fields", "lacks the function check");
  check("null_fields", "lacks the function work");
  check("orphan_param", "parameter 'depth' belongs to 'compresion', which is not described");
  check("strange_param",
        "parameter 'depth' belongs to way = 'deep': its name must begin with 'deep_'");
  check("many_strategies", "reports 4294967295 strategies, more than 1000");
  check("many_params", "strategy 'plain': reports 4294967295 parameters, more than 1000");
  check("other_name", "calls itself 'somebody'\n  name the file orch-somebody.abi3.so");
  check("small_value", "parameter 'depth' has a default of 8 bytes, not the 40 of ABI 3.1");
}

TEST_CASE("two backends may not offer one strategy", "[backend]") {
  const auto message =
      load_error({fs::path(ORCH_BINARY_DIR) / "plugins", fs::path(ORCH_BROKEN_DIR) / "twin"});
  INFO(message);
  CHECK(has(message, file_of("twin") + ": offers the strategy 'megatron', as "));
  CHECK(has(message, file_of("megatron") + " does already"));
}

TEST_CASE("text and half a library under a plug-in's name are refused, all at once", "[backend]") {
  const TestFolder folder;
  folder.file(file_of("text"), "return experiment {}\n");
  folder.file(file_of("empty"), "");
  const auto whole = read_file(fs::path(ORCH_BROKEN_DIR) / "none" / file_of("none"));
  REQUIRE(whole);
  folder.file(file_of("half"), whole->substr(0, 100));
  folder.file("readme.txt", "not looked at");
  const auto message = load_error({folder.root()});
  INFO(message);
  CHECK(has(message, file_of("text") + ": cannot be loaded: "));
  CHECK(has(message, file_of("empty") + ": cannot be loaded: "));
  CHECK(has(message, file_of("half") + ": cannot be loaded: "));
  CHECK(has(message, "rebuild it"));
}

TEST_CASE("a missing folder and one without plug-ins are told apart", "[backend]") {
  const TestFolder folder;
  CHECK(has(load_error({folder.root()}), "no orch-*.abi3.so in: " + folder.root().string()));
  CHECK(has(load_error({folder.root() / "nowhere"}), "nowhere"));
  CHECK(has(load_error({folder.root() / "nowhere"}), "No such file or directory"));
}

TEST_CASE("a plug-in of an earlier folder replaces one of the same file name", "[backend]") {
  const TestFolder folder;
  folder.file(file_of("megatron"), "shadowed by the first folder, so never opened");
  const auto loaded = Backends::load({fs::path(ORCH_BINARY_DIR) / "plugins", folder.root()});
  REQUIRE(loaded);
  CHECK(loaded->all().size() == 3);
}

TEST_CASE("a plug-in for another ABI is named and never opened", "[backend]") {
  const TestFolder folder;
  folder.file("orch-old.abi2.so", "not opened");
  folder.file("orch-older.so", "not opened");
  folder.file("orch-odd.abi.so", "not opened");
  const auto message = load_error({fs::path(ORCH_BINARY_DIR) / "plugins", folder.root()});
  INFO(message);
  CHECK(has(message,
            "orch-old.abi2.so: is for ABI 2\n  this orch loads orch-old.abi3.so: rebuild it"));
  CHECK(has(message, "orch-older.so: names no ABI"));
  CHECK(has(message, "this orch loads orch-older.abi3.so"));
  CHECK(has(message, "orch-odd.abi.so: names no ABI"));
  CHECK_FALSE(has(message, "cannot be loaded"));
}

TEST_CASE("plug-ins of several ABIs lie beside each other", "[backend]") {
  const TestFolder folder;
  folder.file("orch-megatron.abi2.so", "for another orch");
  folder.file("orch-ddp.so", "for an older one");
  const auto loaded = Backends::load({folder.root(), fs::path(ORCH_BINARY_DIR) / "plugins"});
  REQUIRE(loaded);
  CHECK(loaded->all().size() == 3);
}

TEST_CASE("a value may grow at its end on either side of the border", "[backend]") {
  const auto loaded = Backends::load({fs::path(ORCH_BROKEN_DIR) / "large_value"});
  REQUIRE(loaded);
  CHECK(loaded->strategies().front()->params.front().default_value == number(3));

  struct Larger {
    orch_value value;
    double more;
  };
  const std::array<Larger, 2> values{{{{sizeof(Larger), ORCH_INTEGER, 1, 7, 7, nullptr}, 0.5},
                                      {{sizeof(Larger), ORCH_REAL, 1, 0, 2.5, nullptr}, 0.5}}};
  orch_run run{};
  run.struct_size = sizeof run;
  run.family = "gpt";
  run.values = &values.front().value;
  run.n_values = values.size();
  run.value_size = sizeof(Larger);
  const orch_strategy strategy{"grown", "", nullptr, 0, sizeof(orch_param)};
  const std::array<std::string_view, 2> names{"depth", "share"};
  const backend::BackendRun view(run, strategy, names);
  CHECK(view.value("depth").integer == 7);
  CHECK(view.value("share").real == 2.5);
}

}  // namespace orch::test::loader_test

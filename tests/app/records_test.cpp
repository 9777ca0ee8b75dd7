#include "tests/app/desk.h"

using namespace orch;
using app::Exit;

namespace {

// A log in Megatron's format: 40 steps of n milliseconds, and i % 5 more.
fs::path megatron_log(const Desk& desk, const std::string& name, int milliseconds,
                      int tensor_parallel) {
  const int data = 64 / 4 / tensor_parallel;
  auto text = fmt::format(
      "using world size: 64, data-parallel-size: {}, tensor-model-parallel size: {}, "
      "pipeline-model-parallel size: 4\n"
      "------------------------ arguments ------------------------\n",
      data, tensor_parallel);
  for (const auto& [key, value] : std::vector<std::pair<const char*, std::string>>{
           {"world_size", "64"},
           {"data_parallel_size", std::to_string(data)},
           {"tensor_model_parallel_size", std::to_string(tensor_parallel)},
           {"pipeline_model_parallel_size", "4"},
           {"num_layers", "40"},
           {"hidden_size", "5120"},
           {"num_attention_heads", "40"},
           {"seq_length", "2048"},
           {"micro_batch_size", "2"},
           {"global_batch_size", "512"},
           {"fp16", "True"},
           {"checkpoint_activations", "True"},
           {"padded_vocab_size", "50304"}})
    text += fmt::format("  {} ........ {}\n", key, value);
  text += "-------------------- end of arguments ---------------------\n";
  for (int i = 1; i <= 40; ++i)
    text += fmt::format(
        " iteration {:8}/     100 | consumed samples: {:12} | elapsed time per iteration (ms): "
        "{}.0 | global batch size:   512 | lm loss: {}.500000E+00 | number of skipped iterations: "
        "  0 |\n",
        i, i * 512, milliseconds + i % 5, 9 - i / 5);
  return desk.file(name, text);
}

app::RecordArguments records(const Desk& desk, std::vector<std::string> words,
                             const std::string& format = "table") {
  app::RecordArguments out;
  out.words = std::move(words);
  out.runs = desk.runs();
  out.common.format = format;
  out.common.screen.markdown = format == "md";
  return out;
}

}  // namespace

TEST_CASE("a log that does not say the size of its model has no estimate", "[app][records]") {
  const Desk desk;
  const auto log = desk.file(
      "trainer.out",
      "***** Running training *****\n"
      "  Total train batch size (w. parallel, distributed & accumulation) = 64\n"
      "  Number of trainable parameters = 6,738,415,616\n"
      "Distributed environment: FSDP  Backend: nccl\n"
      "[INFO:swift] rank: 0, local_rank: 0, world_size: 8, local_world_size: 8\n"
      "{'train_runtime': 100.0, 'train_samples_per_second': 6.4, 'train_steps_per_second': 0.1}\n");
  const auto told =
      desk(app::ingest_command, app::IngestArguments{records(desk, {log.string()}, "json")});
  CHECK(told.exit == Exit::ok);
  CHECK(
      told.has("the log does not say layers, hidden and seq; --set layers=N --set hidden=N --set "
               "seq=N does"));
}

TEST_CASE("a log becomes a record with its median, its layout and an estimate", "[app][records]") {
  const Desk desk;
  const auto log = megatron_log(desk, "slow.out", 12000, 4);
  const auto table = desk(app::ingest_command, app::IngestArguments{records(desk, {log.string()})});
  CHECK(table.exit == Exit::ok);
  for (const auto* part :
       {"slow.out  megatron ", "step 1 dropped", "the log ends at step 40 of 100",
        "neither the site nor the GPU is given"})
    CHECK(table.has(part));

  app::IngestArguments known{records(desk, {log.string()}, "json")};
  known.records.cluster = "jean-zay";
  known.records.set = {"gpu=a100-80g"};
  const auto record = desk(app::ingest_command, known).json()["records"][0];
  CHECK(record["measured"]["step_seconds"] == 12.002);  // 39 steps of 12.000 to 12.004
  for (const auto& [key, value] : std::map<std::string, int>{{"tensor_parallel", 4},
                                                             {"pipeline_parallel", 4},
                                                             {"data_parallel", 4},
                                                             {"micro_batch", 2},
                                                             {"accumulate", 64},
                                                             {"global_batch", 512}})
    CHECK(record[key] == value);
  CHECK(record["estimated"]["step_seconds"].get<double>() > 0);

  known.records.set = {"tensor_paralel=4"};
  const auto typo = desk(app::ingest_command, known);
  CHECK(typo.exit == Exit::error);
  CHECK(typo.notes_have("did you mean 'tensor_parallel'?"));
}

TEST_CASE("an output never replaces what is read", "[app][records]") {
  const Desk desk;
  const auto log = megatron_log(desk, "kept.out", 12000, 4);
  const auto before = *read_file(log);
  app::IngestArguments asked{records(desk, {log.string()}, "json")};
  asked.records.output = log.string();
  CHECK(desk(app::ingest_command, asked).exit == Exit::usage);
  CHECK(*read_file(log) == before);
  asked.records.output = (desk.root() / "no/such/folder/x").string();
  CHECK(desk(app::ingest_command, asked).exit == Exit::error);
  asked.records.output = (desk.root() / "x.json").string();
  const auto said = desk(app::ingest_command, asked);
  CHECK(said.out.empty());
  CHECK(said.notes_have("written: "));
}

TEST_CASE("two logs are compared: what differs, and how much", "[app][records]") {
  const Desk desk;
  const auto slow = megatron_log(desk, "slow.out", 12000, 4).string();
  const auto fast = megatron_log(desk, "fast.out", 10000, 2).string();
  const auto said = desk(app::compare_command, app::CompareArguments{records(desk, {slow, fast})});
  CHECK(said.exit == Exit::ok);
  CHECK(said.has("tensor_parallel"));
  CHECK(said.has("1.20x faster (1.20 to 1.20)"));  // 12.002 / 10.002
  const auto details = said.out.find("Settings that differ\n");
  REQUIRE(details != std::string::npos);
  CHECK(std::count(said.out.begin(), said.out.begin() + static_cast<std::ptrdiff_t>(details),
                   '\n') <= 25);
  const auto one = desk(app::compare_command, app::CompareArguments{records(desk, {slow})});
  CHECK(one.exit == Exit::usage);
}

TEST_CASE("rows of a table are chosen by their fields and paired", "[app][records]") {
  const Desk desk;
  const auto compare = [&](std::vector<std::string> words) {
    return desk(app::compare_command,
                app::CompareArguments{records(desk, std::move(words)), {"bloom7b-days"}});
  };
  // 258 / 200 and 516 / 400 of the table.
  CHECK(compare({"strategy=fsdp", "strategy=deepspeed"})
            .has("Like for like, deepspeed is 1.29x slower than fsdp"));
  const auto chosen =
      compare({"framework=ddp,gpus=8,compression=none", "zero_stage=1,gpus=8,micro_batch=1"});
  CHECK(chosen.has("b7b-0006"));
  CHECK(chosen.has("b7b-0003"));
  const auto nothing = compare({"framework=dpp", "zero_stage=1"});
  CHECK(nothing.exit == Exit::error);
  CHECK(nothing.notes_have("there is: ddp"));
  CHECK(compare({"framwork=ddp", "zero_stage=1"}).notes_have("did you mean 'framework'?"));
  const auto empty = compare({"", "zero_stage=1"});
  CHECK(empty.exit == Exit::error);
  CHECK(empty.notes_have("found nothing to compare"));
}

TEST_CASE("a report is a page, and replaces nothing but a page", "[app][records]") {
  const Desk desk;
  app::ReportArguments asked{records(desk, {shipped("200b.lua")}, "html")};
  asked.records.output = (desk.root() / "200b.html").string();
  const auto said = desk(app::report_command, asked);
  REQUIRE(said.exit == Exit::ok);
  const auto page = *read_file(asked.records.output);
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.find("is best: 300B tokens in ") != std::string::npos);
  CHECK(page.find(ORCH_SOURCE_DIR) == std::string::npos);
  CHECK(desk(app::report_command, asked).exit == Exit::ok);  // a page replaces a page

  for (const auto& [format, part] : std::map<std::string, const char*>{{"md", "| jz-1b3-0001 |"},
                                                                       {"csv", "tensor_parallel"},
                                                                       {"json", "\"jz-1b3-0001\""},
                                                                       {"svg", "</svg>"}})
    CHECK(desk(app::report_command, app::ReportArguments{records(desk, {"bench-1b3"}, format)})
              .has(part));
  const auto unknown =
      desk(app::report_command, app::ReportArguments{records(desk, {"nothing-like-it"}, "html")});
  CHECK(unknown.notes_have("no file, experiment, run, row or published source"));
  asked.records.common.format = "json";
  asked.watch = 1;
  CHECK(desk(app::report_command, asked).exit == Exit::usage);
}

TEST_CASE("nothing is checked of runs that nobody started", "[app][records]") {
  const Desk desk;
  const auto file = desk.file("nightly.lua", R"(return experiment { name = "nightly",
    model = "gpt-tiny", hardware = { cluster = "local", gpus = 1 }, batch = { global_batch = 8 },
    tokens = 1e6, strategies = { ddp { dtype = "fp32" } },
    expect = { tokens_per_second = { value = 2100, below = 0.05 } } })");
  const auto said = desk(app::check_command, records(desk, {file.string()}));
  CHECK(said.exit == Exit::error);
  CHECK(said.notes_have("no started run has an expectation"));
}

TEST_CASE("validate judges every row that it does not leave out", "[app][records]") {
  const Desk desk;
  app::ValidateArguments asked;
  asked.common.format = "json";
  const auto said = desk(app::validate_command, asked);
  REQUIRE(said.exit == Exit::ok);
  const auto data = said.json();
  double error = 0;
  int count = 0;
  for (const auto& row : data["rows"]) {
    if (row["source"] != "bloom-prequel" || row["error"].is_null()) continue;
    error += 100 * std::abs(row["predicted_seconds"].get<double>() /
                                row["measured_seconds"].get<double>() -
                            1);
    ++count;
  }
  const auto source = *std::ranges::find_if(data["scores"], [](const auto& score) {
    return score["source"] == "bloom-prequel" && score["table"].is_null();
  });
  CHECK(source["n"] == count);
  CHECK(source["mape"].get<double>() == Approx(error / count));
  CHECK(finding(data, "left_out").find("33 suspect") != std::string::npos);
  CHECK(data["rows"].size() + data["skipped"].size() + 33 + 34 == 302);  // the shipped tables

  asked.common.format = "table";
  asked.by = "source";
  asked.tolerance = 50;
  CHECK(desk(app::validate_command, asked).exit == Exit::ok);
  asked.tolerance = 3;
  CHECK(desk(app::validate_command, asked).exit == Exit::over_tolerance);
  asked.table = "(";
  CHECK(desk(app::validate_command, asked).exit == Exit::usage);
  asked.table = "";
  asked.without = {"layer overhed"};
  const auto typo = desk(app::validate_command, asked);
  CHECK(typo.exit == Exit::usage);
  CHECK(typo.notes_have("did you mean 'layer overhead'?"));
}

TEST_CASE("a fit finds what rows were made with", "[app][records]") {
  const Desk desk;
  const auto rows = [&](const std::vector<double>& seconds) {
    return desk
        .file(
            "mine.csv",
            fmt::format(
                R"(id,gpu,gpus,framework,layers,hidden,heads,seq,mbs,gbs,step_time_s,site,zero_stage
one,a100-80g,8,deepspeed,24,2048,16,1024,4,512,{},mine,1
two,a100-80g,16,deepspeed,24,2048,16,1024,4,512,{},mine,1
three,a100-80g,8,deepspeed,24,4096,32,1024,2,512,{},mine,1
)",
                seconds[0], seconds[1], seconds[2]))
        .string();
  };
  app::ValidateArguments as_is;
  as_is.files = {rows({1, 1, 1})};
  as_is.cluster = "dgx-a100";
  as_is.common.format = "json";
  std::vector<double> slower;  // 1.3 times the time by cluster file and stack
  const auto predicted = desk(app::validate_command, as_is).json();
  for (const auto& row : predicted["rows"])
    slower.push_back(1.3 * row["predicted_seconds"].get<double>());
  REQUIRE(slower.size() == 3);
  app::CalibrateArguments fit;
  fit.files = {rows(slower)};
  fit.cluster = "dgx-a100";
  fit.output = (desk.root() / "mine.yaml").string();
  fit.common.format = "json";
  const auto said = desk(app::calibrate_command, fit);
  REQUIRE(said.exit == Exit::ok);
  const auto fitted = said.json()["fitted"][0];
  CHECK(fitted["mape_before"].get<double>() == Approx(100 * (1 - 1 / 1.3)).epsilon(1e-6));
  CHECK(fitted["mape_after"].get<double>() < 3);
  CHECK(read_file(fit.output)->find("name: mine") != std::string::npos);
  fit.output = (desk.root() / "mine.txt").string();
  CHECK(desk(app::calibrate_command, fit).exit == Exit::usage);
}

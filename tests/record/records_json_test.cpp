#include "core/record/records_json.h"

#include <nlohmann/json.hpp>

#include "tests/test.h"

namespace orch::record {
namespace {

Record full() {
  Record record;
  record.id = "job.out#2";
  record.source = "job.out";
  record.state = RunState::failed;
  record.failure = Failure::gpu_memory;
  record.reason = "CUDA out of memory";
  record.set("tensor_parallel", std::int64_t{4});
  record.set("strategy", std::string("megatron"));
  record.set("flash_attention", false, true);
  record.set("learning_rate", 1.5e-4);
  record.arguments = {{"rotary_base", "500000"}, {"swiglu", "True"}};
  record.origin = {"log", "logs/job.out", 3,      99,           "2021-05-26",      1e9, 2e9, "", "",
                   "",    "abc",          "4711", {"r1", "r2"}, {{"torch", "1.8"}}};
  auto& measured = record.measured;
  measured.step_seconds = statistics::Interval{129.0, 128.5, 130.0, 48};
  measured.window = {2, 49, 48, 1, "step 1 dropped"};
  measured.odd_steps = {{7, 200.0, 1.55}};
  measured.odd_step_count = 1;
  measured.odd_nodes = {{"r2", 150, 129, "seconds per step"}};
  measured.tflops = {{48.7, "simple8", false}};
  measured.peak_memory_bytes = 28e9;
  measured.losses = {{1, 2048, 9.5}, {2, 4096, 9.1}};
  measured.step_times = {{1, 30.5}, {2, 10.25}};
  measured.peaks = {{1, 4e10}};
  measured.resumes = {2};
  measured.spikes = {{2, 9.1, 9.9, 4, true}};
  measured.time_items = {{"forward", "compute", 40}};
  measured.spent = {{"computing", "computing", 30}, {"time since the first start", "sum", 40}};
  record.estimated.emplace();
  record.estimated->fit = plan::MemoryFit::tight;
  record.estimated->step_seconds = 131;
  record.doubts = {{"tflops", "tflops_per_gpu", "34.99 does not follow from 184 s"}};
  return record;
}

TEST_CASE("the fields of a run stand beside what was measured of it") {
  const auto json = nlohmann::json::parse(records_json({full()}));
  CHECK(json.at("schema") == 1);
  const auto& record = json.at("records").at(0);
  CHECK(record.at("tensor_parallel") == 4);
  CHECK(record.at("arguments").at("swiglu") == "True");
  CHECK(record.at("strategy") == "megatron");
  CHECK(record.at("measured").at("step_seconds") == 129.0);
  CHECK(record.at("measured").at("step_low") == 128.5);
  CHECK(record.at("measured").at("window").at("rule") == "step 1 dropped");
  CHECK(record.at("estimated").at("fit") == "tight");
  CHECK(record.at("assumed") == nlohmann::json::array({"flash_attention"}));
  CHECK_FALSE(record.at("measured").contains("gpu_hours"));
}

TEST_CASE("records come back from their JSON as they were") {
  const auto text = records_json({full(), Record()});
  const auto back = parse_records_json(text, "x.json");
  REQUIRE(back);
  REQUIRE(back->size() == 2);
  CHECK(records_json(*back) == text);
  const auto& record = back->front();
  CHECK(record.fields == full().fields);
  CHECK(record.arguments == full().arguments);
  CHECK(record.failure == Failure::gpu_memory);
  CHECK(record.measured.losses.size() == 2);
  REQUIRE(record.measured.step_times.size() == 2);
  CHECK(record.measured.step_times[1].value == 10.25);
  REQUIRE(record.measured.peaks.size() == 1);
  CHECK(record.measured.peaks[0].value == 4e10);
  CHECK(record.measured.spikes.front().at_resume);
  CHECK(record.origin.versions == full().origin.versions);
}

TEST_CASE("what is not a number is not in the JSON, and bytes that are no text are replaced") {
  auto record = full();
  record.measured.last_loss = std::numeric_limits<double>::quiet_NaN();
  record.reason = "a\xff\x1b[31m<script>";
  const auto text = records_json({record});
  const auto json = nlohmann::json::parse(text);
  CHECK_FALSE(json.at("records").at(0).at("measured").contains("last_loss"));
  CHECK(parse_records_json(text, "x").has_value());
}

TEST_CASE("a file that has no records says so") {
  CHECK(parse_records_json("", "a.json").error().at(0).fact == "is not JSON");
  CHECK(parse_records_json("[1]", "a.json").error().at(0).fact == "has no records");
  CHECK(parse_records_json(R"({"schema":7,"records":[]})", "a.json").error().at(0).fact ==
        "was written by another version of orch");
  CHECK(parse_records_json(R"({"schema":1,"records":[7]})", "a.json").error().at(0).fact ==
        "record 1 is not an object");
}

TEST_CASE("values of the wrong kind are left out") {
  const auto back = parse_records_json(
      R"({"schema":1,"records":[{"id":7,"measured":[1],"estimated":"x","doubts":[3,{"kind":1}],
         "origin":{"nodes":[1,"n"],"versions":{"a":1}},"tensor_parallel":null,"seq":2048}]})",
      "a.json");
  REQUIRE(back);
  CHECK(back->front().field_number("seq") == 2048.0);
  CHECK(back->front().field("tensor_parallel") == nullptr);
  CHECK(back->front().origin.nodes == std::vector<std::string>{"n"});
}

TEST_CASE("fields stand in the order in which people look at them") {
  Record record;
  record.set("seed", std::int64_t{1});
  record.set("global_batch", std::int64_t{8});
  record.set("gpus", std::int64_t{2});
  record.set("gpus", std::int64_t{4});
  REQUIRE(record.fields.size() == 3);
  CHECK(record.fields[0] == RecordField{"gpus", std::int64_t{4}, false});
  CHECK(record.fields[1].name == "global_batch");
  CHECK(record.fields[2].name == "seed");
}

}  // namespace
}  // namespace orch::record

#include "core/record/published/said.h"
#include "core/record/published/table.h"
#include "tests/record/published/cell.h"
#include "tests/test.h"

namespace orch::published {
namespace {

Record record_of(Record said) {
  complete(said);
  return said;
}

Record whole_row() {
  Record row;
  row.id = "jz-v100-0022";
  cell(row, "framework") = "megatron";
  cell(row, "site") = "jean-zay";
  cell(row, "gpus") = 64;
  cell(row, "layers") = 64;
  cell(row, "hidden") = 8192;
  cell(row, "params_b") = 48;
  cell(row, "seq") = 1024;
  cell(row, "tp") = 4;
  cell(row, "pp") = 16;
  cell(row, "dp") = 1;
  cell(row, "mbs") = 4;
  cell(row, "pp_chunks") = 256;
  cell(row, "gbs") = 1024;
  cell(row, "act_ckpt") = "true";
  cell(row, "step_time_s") = 129;
  cell(row, "tflops_per_gpu") = 48.7;
  cell(row, "tflops_formula") = "simple8";
  cell(row, "status") = "ok";
  cell(row, "inferred") = "dp; nodes";
  return row;
}

TEST_CASE("a row's cells have the names that Lua has for them") {
  const auto record = record_of(whole_row());
  CHECK(record.field_text("strategy") == "megatron");
  CHECK(record.field_text("cluster") == "jean-zay");
  CHECK(record.field_text("tensor_parallel") == "4");
  CHECK(record.field_text("micro_batch") == "4");
  CHECK(record.field_text("accumulate") == "256");  // the table calls it pp_chunks
  CHECK(record.field_text("recompute") == "full");
  CHECK(record.field_number("params") == 48e9);
  CHECK(record.field("zero_stage") == nullptr);  // not given
  for (const auto& field : record.fields) CHECK(field.assumed == (field.name == "data_parallel"));
}

TEST_CASE("what a row measured is in its record") {
  const auto record = record_of(whole_row());
  REQUIRE(record.measured.step_seconds);
  CHECK(record.measured.step_seconds->value == 129);
  CHECK_FALSE(record.measured.step_seconds->has_limits());
  // 1024 samples x 1024 tokens / 129 s = 8128.5 tokens/s; 1e11 / 8128.5 / 86400 = 142.4 days.
  CHECK(*record.measured.tokens_per_second == Catch::Approx(8128.5).epsilon(1e-4));
  CHECK(*record.measured.days_per_100b_tokens == Catch::Approx(142.39).epsilon(1e-4));
  CHECK(record.measured.tflops.at(0).convention == "simple8");
  CHECK(record.state == record::RunState::finished);
}

TEST_CASE("days per 100B tokens of a table are a rate: 29 days are 39,911 tokens/s") {
  Record days;
  cell(days, "days_per_100b_tokens") = 29;
  const auto record = record_of(days);
  CHECK(*record.measured.tokens_per_second == Catch::Approx(39911).epsilon(1e-4));
  CHECK(*record.measured.days_per_100b_tokens == Catch::Approx(29));
}

TEST_CASE(
    "TFLOPs follow from time and sizes: a published row of 72 x 14336 at 134.02 s has 120.29") {
  Record big;  // jz-a100-0053: 384 GPUs, batch 2048, vocabulary 250880
  cell(big, "framework") = "megatron-deepspeed";
  cell(big, "gpus") = 384;
  cell(big, "layers") = 72;
  cell(big, "hidden") = 14336;
  cell(big, "vocab") = 250880;
  cell(big, "seq") = 2048;
  cell(big, "gbs") = 2048;
  cell(big, "act_ckpt") = "true";
  cell(big, "step_time_s") = 134.02;
  auto record = record_of(big);
  add_tflops(record);
  REQUIRE(record.measured.tflops.size() == 1);
  CHECK(record.measured.tflops[0].value == Catch::Approx(120.29).epsilon(2e-4));
  CHECK(record.measured.tflops[0].computed);
  add_tflops(record);
  CHECK(record.measured.tflops.size() == 1);
  cell(big, "gbs").reset();
  auto unknown = record_of(big);
  add_tflops(unknown);
  CHECK(unknown.measured.tflops.empty());
}

TEST_CASE("a row that ran out of memory failed, and an empty one was never run") {
  Record oom;
  cell(oom, "status") = "oom";
  CHECK(record_of(oom).state == record::RunState::failed);
  CHECK(record_of(oom).failure == record::Failure::gpu_memory);
  CHECK(record_of(Record()).state == record::RunState::planned);
}

TEST_CASE("a cell is set by its column or by its field, and a wrong one is told") {
  auto changed = whole_row();
  CHECK(set_cell(changed, "gpu", "v100-32g"));
  CHECK(set_cell(changed, "tensor_parallel", " 8 "));
  CHECK(changed.whole("tensor_parallel") == 8);
  CHECK(set_cell(changed, "dp", "2"));
  CHECK(set_cell(changed, "params", "7.1B"));
  CHECK(*billions(changed) == Catch::Approx(7.1));
  CHECK(set_cell(changed, "params", "176e9"));
  CHECK(*billions(changed) == Catch::Approx(176));
  CHECK(set_cell(changed, "tensor_paralel", "8").error().at(0).fix ==
        "did you mean 'tensor_parallel'?");
  CHECK(set_cell(changed, "tp", "many").error().at(0).fact == "'many' is not a number");
  CHECK_FALSE(set_cell(changed, "tp", ""));
}

TEST_CASE("rows that are written are read again as they were") {
  auto one = whole_row(), two = Record();
  two.id = "a,b \"c\"";
  cell(two, "gpu") = "h100";
  cell(two, "flash_attn") = true;
  cell(two, "mem_gb") = 0.1;
  const auto back = parse_rows(rows_csv({one, two}), "x.csv");
  REQUIRE(back);
  REQUIRE(back->size() == 2);
  CHECK((*back)[0].whole("pp_chunks") == 256);
  CHECK(step_time((*back)[0]) == 129.0);
  CHECK((*back)[0].field_text("inferred") == "dp; nodes");
  CHECK((*back)[1].id == two.id);
  CHECK((*back)[1].flag("flash_attention") == true);
  CHECK(memory_gib((*back)[1]) == 0.1);
  CHECK_FALSE((*back)[1].whole("tensor_parallel"));
}

}  // namespace
}  // namespace orch::published

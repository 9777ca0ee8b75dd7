#include "core/record/published/doubts.h"

#include "core/record/published/columns.h"
#include "tests/record/published/support.h"

namespace orch::published {
namespace {

std::optional<GpuFacts> a100(const Record&) { return GpuFacts{312, 80}; }

std::vector<record::Doubt> of(const Record& row) { return doubts({row}, a100).front(); }

// "kind: reason" for each doubt of a row, one per line.
std::string words(const std::vector<record::Doubt>& doubts) {
  std::string out;
  for (const auto& doubt : doubts) out += doubt.kind + ": " + doubt.reason + "\n";
  return out;
}

std::string words(const Record& row) { return words(of(row)); }

// Copies of the published row of test::row() with changes; each with its own name.
struct DoubtsTable {
  std::vector<Record> rows;

  Record& add(const std::string& id) {
    rows.push_back(test::row());
    rows.back().id = id;
    return rows.back();
  }
  std::string words(std::size_t i) const {
    return orch::published::words(doubts(rows, a100).at(i));
  }
  bool none() const {
    const auto found = doubts(rows, a100);
    return std::all_of(found.begin(), found.end(), [](const auto& list) { return list.empty(); });
  }
};

TEST_CASE("a row that agrees with itself has no doubts", "[measured][doubts]") {
  CHECK(words(test::row()).empty());
  CHECK(doubts({}, a100).empty());
}

TEST_CASE("what is absent is never doubtful", "[measured][doubts]") {
  CHECK(words(Record{}).empty());
  for (const auto& column : columns()) {
    Record without = test::row(), alone;
    cell(without, column.name).reset();
    if (const auto text = cell_text(column, test::row()); !text.empty())
      CHECK(read_cell(text, column, alone).none());
    INFO(column.name);
    CHECK(words(without).empty());
    CHECK(words(alone).empty());
  }
}

TEST_CASE("ranks that are not GPUs are told with what would fit", "[measured][doubts]") {
  auto row = test::row();
  cell(row, "dp") = 8;
  cell(row, "gas") = 64;
  CHECK(words(row) ==
        "topology: data 8 x tensor 4 x pipeline 6 = 192 ranks, the row says 384 GPUs; "
        "tensor_parallel 8 or pipeline_parallel 12 or data_parallel 16 or context_parallel 2 would "
        "fit\n");
  CHECK(of(row).front().field == "tensor_parallel, pipeline_parallel, data_parallel, gpus");
}

TEST_CASE("a log whose size is told in two ways that are far apart is doubted",
          "[measured][doubts]") {
  Record log;
  log.origin.kind = "log";
  log.set("layers", std::int64_t{27});
  log.set("hidden", std::int64_t{1152});
  log.set("vocab", std::int64_t{262144});
  log.set("params", 25.8e9);
  CHECK(words(log).starts_with("size: 27 layers of width 1152 are 0.4B parameters"));
  log.set("params", 0.74e9);
  CHECK(words(log).empty());
  log.set("params", 25.8e9);
  log.set("experts", std::int64_t{128});  // of which a token sees a few
  CHECK(words(log).empty());
}

TEST_CASE("nodes have to hold the GPUs, the last one not all of it", "[measured][doubts]") {
  auto row = test::row();
  cell(row, "nodes") = 47;
  CHECK(has(words(row), "topology: 47 nodes of 8 GPUs have 376, the row says 384 GPUs"));
  cell(row, "nodes") = 96;
  CHECK(has(words(row), "nodes 48 or gpus_per_node 4 would fit"));
  row = Record{};
  cell(row, "gpus") = 2;
  cell(row, "nodes") = 1;
  cell(row, "gpus_per_node") = 8;
  CHECK(words(row).empty());
  cell(row, "gpus") = 12;
  cell(row, "nodes") = 2;
  CHECK(words(row).empty());
}

TEST_CASE("heads divide the width and are divided among ranks", "[measured][doubts]") {
  auto row = test::row();
  cell(row, "heads") = 60;
  CHECK(words(row) == "topology: hidden 14336 does not divide by heads 60\n");
  row = test::row();
  cell(row, "heads") = 14;
  CHECK(words(row) == "topology: heads 14 does not divide by tensor_parallel 4\n");
}

TEST_CASE("uneven stages run, empty ones do not", "[measured][doubts]") {
  Record row;
  cell(row, "pp") = 12;
  cell(row, "layers") = 78;
  CHECK(words(row).empty());
  cell(row, "layers") = 10;  // the embeddings have their own two stages
  CHECK(words(row).empty());
  cell(row, "layers") = 9;
  CHECK(words(row) == "topology: 9 layers cannot fill 12 pipeline stages\n");
}

TEST_CASE("a batch is micro-batch x micro-batches x ranks", "[measured][doubts]") {
  auto row = test::row();
  cell(row, "gas") = 16;
  CHECK(words(row) ==
        "batch: micro-batch 4 x 16 micro-batches x data 16 = 1024 samples, the row says a global "
        "batch of 2048; micro_batch 8 or accumulate 32 or data_parallel 32 would fit\n");
  cell(row, "gas").reset();
  cell(row, "pp_chunks") = 31;
  CHECK(has(words(row), "= 1984 samples"));
  cell(row, "pp_chunks") = 32;
  CHECK(words(row).empty());
}

TEST_CASE("TFLOPs may differ by rounding and a percent, and not by more", "[measured][doubts]") {
  auto row = test::row();
  cell(row, "tflops_per_gpu") = 138.9;  // 0.9 %
  CHECK(words(row).empty());
  cell(row, "tflops_per_gpu") = 140.5;  // 2.1 %
  CHECK(has(words(row), "tflops: 117.11 s for 2048 samples on 384 GPUs are 137.6"));
  CHECK(has(words(row), "the row says 140.5: 2.1 % more; 114.7 s would fit"));
  cell(row, "step_time_s") = 117;  // half a second is 0.4 %
  cell(row, "tflops_per_gpu") = 136;
  CHECK(words(row).empty());
  cell(row, "tflops_per_gpu") = 275.32;
  CHECK(has(words(row), "2.00 times as much; 192 GPUs or"));
}

TEST_CASE("TFLOPs that agree with another way to count say so", "[measured][doubts]") {
  auto row = test::row();
  // 8 x 72 x (12 x 14336^2 + 13 x 14336) parameters x 2048 x 2048 tokens / 117.11 s / 384.
  cell(row, "tflops_per_gpu") = 132.54;
  CHECK(has(words(row), "it agrees with simple8, parameters without embeddings"));
}

TEST_CASE("a formula without recomputation in its cell may be either", "[measured][doubts]") {
  auto row = test::row();
  cell(row, "act_ckpt").reset();
  cell(row, "tflops_per_gpu") = 137.66 * 3 / 4;
  CHECK(words(row).empty());
}

TEST_CASE("TFLOPs by a formula that nobody knows are only doubted when far off",
          "[measured][doubts]") {
  auto row = test::row();
  cell(row, "tflops_formula") = "log";
  cell(row, "tflops_per_gpu") = 110;
  CHECK(words(row).empty());
  cell(row, "tflops_per_gpu") = 230;
  CHECK(has(words(row), "by any way to count, the row says 230"));
  cell(row, "params_b") = 900;  // a mixture of experts: our formulas do not apply
  CHECK(words(row).empty());
}

TEST_CASE("nothing is faster than its GPU", "[measured][doubts]") {
  auto row = test::row();
  cell(row, "tflops_per_gpu") = 313;
  cell(row, "step_time_s") = 400;
  CHECK(words(row) == "over_peak: 313 TFLOPs per GPU are above the peak of 312\n");
  row = test::row();
  cell(row, "gbs") = 6144;
  cell(row, "gas") = 96;
  CHECK(has(words(row), "over_peak: 117.11 s for 6144 samples on 384 GPUs are 41"));
  CHECK(has(words(row), "above the peak of 312; for the stated 137.66, global_batch 2048 or 351"));
  cell(row, "tflops_per_gpu").reset();
  CHECK(has(words(row), "over_peak"));
  CHECK(words(doubts({row}, [](const Record&) { return std::nullopt; }).front()).empty());
}

TEST_CASE("TFLOPs above the peak beside a time below it look swapped", "[measured][doubts]") {
  auto row = test::row();
  cell(row, "gpus").reset();
  cell(row, "nodes").reset();
  cell(row, "gpus_per_node").reset();
  cell(row, "step_time_s") = 40.3;
  cell(row, "tflops_per_gpu") = 400;
  CHECK(words(row) ==
        "swapped: 400 TFLOPs per GPU are above the peak of 312; 400 s and 40.3 TFLOPs would not "
        "be: columns swapped?\n");
}

TEST_CASE("two ways to say the speed have to agree", "[measured][doubts]") {
  auto row = test::row();
  cell(row, "samples_per_s") = 17.5;  // 2048 / 117.11 = 17.488
  CHECK(words(row).empty());
  cell(row, "samples_per_s") = 12;
  CHECK(has(words(row), "throughput: 117.11 s for 2048 samples are 17.49 samples/s"));
  cell(row, "samples_per_s").reset();
  cell(row, "days_per_100b_tokens") = 32.3;  // 100e9 / 2048 / 17.488 / 86400
  CHECK(words(row).empty());
  cell(row, "days_per_100b_tokens") = 65;
  CHECK(has(words(row), "65 days per 100B tokens are 8.69"));
}

TEST_CASE("a size is doubted where it is unlike those of its source", "[measured][doubts]") {
  DoubtsTable table;
  for (const auto* id : {"a", "b", "c", "d"}) table.add(id);
  cell(table.add("e"), "params_b") = 140;
  CHECK(has(table.words(4),
            "size: 72 layers of width 14336 are 177.6B parameters, 181.2B with a "
            "vocabulary of 250000; the row says 140B"));
  for (std::size_t i = 0; i < 4; ++i) CHECK(table.words(i).empty());
}

TEST_CASE("other architectures have other sizes", "[measured][doubts]") {
  Record wide;  // a feed-forward layer of eight widths
  cell(wide, "layers") = 28;
  cell(wide, "hidden") = 3072;
  cell(wide, "vocab") = 256000;
  cell(wide, "params_b") = 8.54;
  CHECK(words(wide).empty());
  cell(wide, "params_b") = 1.5;  // less than the minimum of a usual model: 3.2
  CHECK(has(words(wide), "size: 28 layers of width 3072 are 3.2B"));
}

TEST_CASE("a shape that is far too small for its parameters is doubted", "[measured][doubts]") {
  Record row;
  cell(row, "layers") = 12;
  cell(row, "hidden") = 768;
  cell(row, "vocab") = 50257;
  cell(row, "params_b") = 25;
  CHECK(has(words(row), "size: 12 layers of width 768 are 0.1B"));
  cell(row, "params_b") = 2;  // a mixture of experts may be this large
  CHECK(words(row).empty());
}

TEST_CASE("labels count parameters in several ways", "[measured][doubts]") {
  DoubtsTable table;
  for (int i = 0; i < 4; ++i) table.add("usual");
  cell(table.add("without embeddings"), "params_b") = 178;
  cell(table.add("with an output of its own"), "params_b") = 185;
  cell(table.add("in 2^30"), "params_b") = 169;
  CHECK(table.none());
}

TEST_CASE("memory is no more than there is, and no less than is kept", "[measured][doubts]") {
  auto row = test::row();
  cell(row, "mem_gb") = 80;
  CHECK(words(row).empty());
  cell(row, "mem_gb") = 97;
  CHECK(words(row) == "memory: 97 GB of memory were used, the GPU has 80\n");
  row = Record{};  // as published: 30 layers, 2 x 2048 tokens, 5 GB
  cell(row, "layers") = 30;
  cell(row, "hidden") = 4096;
  cell(row, "seq") = 2048;
  cell(row, "mbs") = 2;
  cell(row, "tp") = cell(row, "pp") = 1;
  cell(row, "act_ckpt") = "false";
  cell(row, "mem_gb") = 5;
  CHECK(has(words(row), "memory: 30 layers of micro-batch 2 x 2048 tokens keep at least 7.5 GB"));
  cell(row, "act_ckpt") = "true";
  CHECK(words(row).empty());
}

TEST_CASE("numbers beyond reason do no harm", "[measured][doubts]") {
  auto row = test::row();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  cell(row, "tp") = cell(row, "pp") = cell(row, "dp") = cell(row, "mbs") = cell(row, "gas") =
      cell(row, "gbs") = kMost / 1024;
  cell(row, "step_time_s") = std::numeric_limits<double>::infinity();
  cell(row, "tflops_per_gpu") = 0;
  CHECK(has(words(row), "topology"));
  cell(row, "gpus") = cell(row, "gpus_per_node") = cell(row, "heads") = cell(row, "tp") =
      cell(row, "seq") = cell(row, "dp") = 0;
  cell(row, "step_time_s") = -1;
  cell(row, "mem_gb") = -3;
  CHECK_NOTHROW(words(row));
}

}  // namespace
}  // namespace orch::published

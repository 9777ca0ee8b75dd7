#include "core/record/published/doubts.h"

#include <ctime>

#include "core/record/published/columns.h"
#include "tests/record/published/support.h"

namespace orch::published {
namespace {

std::optional<GpuFacts> a100(const Record&) { return GpuFacts{312, 80}; }

std::vector<record::Doubt> of(const Record& row) { return doubts({row}, a100).front(); }

// "kind: reason" of each doubt of a row, one below the other.
std::string words(const std::vector<record::Doubt>& doubts) {
  std::string out;
  for (const auto& doubt : doubts) out += doubt.kind + ": " + doubt.reason + "\n";
  return out;
}

std::string words(const Record& row) { return words(of(row)); }

// Of the published row of test::row() with changes; each with a name of its own.
struct Table {
  std::vector<Record> rows;

  Record& add(const std::string& id) {
    rows.push_back(test::row());
    rows.back().id = id;
    return rows.back();
  }
  Record& add(const std::string& id, std::int64_t micro_batch, std::int64_t batch, double seconds) {
    auto& row = add(id);
    cell(row, "mbs") = micro_batch;
    cell(row, "gbs") = batch;
    cell(row, "gas") = batch / (micro_batch * *row.whole("data_parallel"));
    cell(row, "step_time_s") = seconds;
    cell(row, "tflops_per_gpu") = 137.66 * 117.11 / seconds * static_cast<double>(batch) / 2048;
    cell(row, "mem_gb").reset();
    return row;
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

TEST_CASE("logs that say little are not compared with each other", "[measured][doubts]") {
  Record slow, fast;
  slow.source = fast.source = "train.out";
  cell(slow, "status") = cell(fast, "status") = "ok";
  cell(slow, "step_time_s") = 9;
  cell(slow, "mem_gb") = 70;
  cell(slow, "gpus") = cell(fast, "gpus") = 8;
  cell(slow, "gbs") = cell(fast, "gbs") = 64;
  cell(fast, "step_time_s") = 1;
  cell(fast, "mem_gb") = 7;
  CHECK(words(doubts({slow, fast}, a100)[0]).empty());
  CHECK(words(doubts({slow, fast}, a100)[1]).empty());
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
  cell(row, "layers") = 10;  // the embeddings on two stages of their own
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
  cell(row, "params_b") = 900;  // a mixture of experts: our formulas are not made for it
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
  Table table;
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
  cell(wide, "params_b") = 1.5;  // less than attention and usual feed-forward layers have: 3.2
  CHECK(has(words(wide), "size: 28 layers of width 3072 are 3.2B"));
}

TEST_CASE("a shape that is far too small for its parameters is doubted", "[measured][doubts]") {
  Record row;
  cell(row, "layers") = 12;
  cell(row, "hidden") = 768;
  cell(row, "vocab") = 50257;
  cell(row, "params_b") = 25;
  CHECK(has(words(row), "size: 12 layers of width 768 are 0.1B"));
  cell(row, "params_b") = 2;  // a mixture of experts may be so large
  CHECK(words(row).empty());
}

TEST_CASE("labels count parameters in several ways", "[measured][doubts]") {
  Table table;
  for (int i = 0; i < 4; ++i) table.add("usual");
  cell(table.add("without embeddings"), "params_b") = 178;
  cell(table.add("with an output of its own"), "params_b") = 185;
  cell(table.add("in 2^30"), "params_b") = 169;
  CHECK(table.none());
}

TEST_CASE("of repeats the one that is far off is doubted", "[measured][doubts]") {
  Table table;
  table.add("first", 4, 2048, 117);
  table.add("slow", 4, 2048, 200);
  table.add("last", 4, 2048, 119);
  CHECK(table.words(1) ==
        "repeat: 200 s where the same configuration has 117 (first), 119 (last)\n");
  CHECK(table.words(0).empty());
  CHECK(table.words(2).empty());
  table.rows.pop_back();  // of two, nobody knows which
  CHECK(has(table.words(0), "disagree: 117 s where the same configuration has 200 (slow)"));
  CHECK(has(table.words(1), "disagree: 200 s where the same configuration has 117 (first)"));
  cell(table.rows[1], "heads") = 128;
  CHECK(table.none());
}

TEST_CASE("reprints and other sources are no repeats", "[measured][doubts]") {
  Table table;
  table.add("first", 4, 2048, 117);
  cell(table.add("slow", 4, 2048, 200), "dup_of") = "elsewhere";
  CHECK(table.none());
  cell(table.rows[1], "dup_of").reset();
  table.rows[1].source = "another";
  CHECK(table.none());
}

TEST_CASE("repeats with another memory are doubted", "[measured][doubts]") {
  Table table;  // as published: one configuration twice in a row, with 44 and 38 GB
  cell(table.add("twin", 2, 2048, 110.48), "mem_gb") = 44;
  cell(table.add("odd", 2, 2048, 113.54), "mem_gb") = 38;
  CHECK(table.words(1) == "disagree: 38 GB where the same configuration has 44 (twin)\n");
  cell(table.rows[1], "mem_gb") = 42;
  CHECK(table.none());
}

TEST_CASE("columns that are another row's swapped are found", "[measured][doubts]") {
  Table table;
  table.add("right");
  auto& wrong = table.add("wrong");
  std::swap(wrong.measured.step_seconds->value, wrong.measured.tflops.front().value);
  CHECK(has(table.words(0), "117.11 s and 137.66 TFLOPs are those of wrong swapped, and one of"));
  CHECK(has(table.words(1), "137.66 s and 117.11 TFLOPs are those of right swapped, and one of"));
  table.add("witness", 4, 2048, 116.2);
  CHECK(table.words(0).empty());
  CHECK(has(table.words(1), "swapped: 137.66 s and 117.11 TFLOPs are those of right swapped\n"));
}

TEST_CASE("a smaller batch that takes as long is doubted", "[measured][doubts]") {
  Table table;
  table.add("large", 4, 2048, 117.11);
  table.add("small", 4, 1024, 116);
  CHECK(has(table.words(1), "scaling: a batch of 1024 takes 116 s, one of 2048 117.11 s (large)"));
  CHECK(table.words(0).empty());
  // The half of a step is 16121 / 2 TFLOP on each GPU, 26 s at the peak: 80 s leave more than that.
  table.rows.pop_back();
  table.add("overhead", 4, 1024, 80);
  CHECK(table.none());
}

TEST_CASE("a smaller batch with a smaller micro-batch may be a little slower",
          "[measured][doubts]") {
  Table table;
  table.add("large", 8, 2048, 117.11);
  table.add("small", 4, 1024, 125);
  CHECK(table.none());
  table.rows.pop_back();
  table.add("slow", 4, 1024, 150);
  CHECK(has(table.words(1), "scaling: a batch of 1024 takes 150 s"));
}

TEST_CASE("a micro-batch that is slow for no reason is doubted", "[measured][doubts]") {
  Table table;
  table.add("one", 1, 2048, 170);
  table.add("two", 2, 2048, 118);
  CHECK(table.none());  // two rows may be on any curve
  table.add("four", 4, 2048, 117);
  CHECK(has(table.words(0), "scaling: micro-batch 1 takes 170 s, 2 takes 118 s (two) and 4 117 s"));
  cell(table.rows[2], "step_time_s") = 92;  // A + B / micro-batch: 66 + 104, 66 + 52, 66 + 26
  cell(table.rows[2], "tflops_per_gpu").reset();
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

TEST_CASE("memory that falls where the micro-batch grows is doubted", "[measured][doubts]") {
  Table table;
  cell(table.add("two", 2, 2048, 118), "mem_gb") = 65;
  cell(table.add("four", 4, 2048, 117), "mem_gb") = 56;
  CHECK(has(table.words(0), "memory: 65 GB with micro-batch 2, 56 GB with 4 (four)"));
  CHECK(has(table.words(1), "memory: 56 GB with micro-batch 4, 65 GB with 2 (two)"));
  auto& like_four = table.add("like four", 4, 2048, 121);
  cell(like_four, "layers") = 78;
  cell(like_four, "params_b") = 196;
  cell(like_four, "tflops_per_gpu").reset();
  cell(like_four, "mem_gb") = 57;  // so it is the first that is odd
  CHECK(has(table.words(0), "memory: 65 GB"));
  CHECK(table.words(1).empty());
  CHECK(table.words(2).empty());
}

TEST_CASE("a run out of memory is doubted where more ran", "[measured][doubts]") {
  Table table;
  table.add("ran");
  auto& failed = table.add("failed", 2, 2048, 1);
  cell(failed, "status") = "oom";
  cell(failed, "step_time_s").reset();
  cell(failed, "tflops_per_gpu").reset();
  CHECK(has(table.words(1), "memory: ran out of memory with micro-batch 2, where ran ran with 4"));
  CHECK(table.words(0).empty());
  cell(table.rows[1], "mbs") = 8;
  cell(table.rows[1], "gas") = 16;
  CHECK(table.none());
}

TEST_CASE("a run out of memory on more GPUs than ran is doubted", "[measured][doubts]") {
  Table table;
  table.add("ran");
  auto& failed = table.add("failed");
  cell(failed, "gpus") = 768;
  cell(failed, "nodes") = 96;
  cell(failed, "dp") = 32;
  cell(failed, "gbs") = 4096;
  cell(failed, "status") = "oom";
  cell(failed, "step_time_s").reset();
  cell(failed, "tflops_per_gpu").reset();
  cell(failed, "mem_gb").reset();
  CHECK(has(table.words(1), "scaling: ran out of memory on 768 GPUs, where ran ran on 384"));
  CHECK(table.words(0).empty());
}

TEST_CASE("a run out of a smaller GPU's memory is doubted where less was used",
          "[measured][doubts]") {
  Table table;
  cell(table.add("large"), "mem_gb") = 30;
  auto& small = table.add("small");
  cell(small, "gpu") = "a100-40g";
  cell(small, "status") = "oom";
  cell(small, "step_time_s").reset();
  cell(small, "tflops_per_gpu").reset();
  cell(small, "mem_gb").reset();
  const auto found = doubts(table.rows, [](const Record& row) -> std::optional<GpuFacts> {
    return GpuFacts{312, row.field_text("gpu") == "a100-40g" ? 40.0 : 80.0};
  });
  CHECK(words(found[0]) ==
        "memory: 30 GB, where small ran out of 40 GB: is it the fullest GPU's peak?\n");
  CHECK(words(found[1]) == "memory: ran out of 40 GB, where large used 30 GB of 80\n");
}

TEST_CASE("names in reasons cannot move the cursor", "[measured][doubts]") {
  Table table;
  table.add("\x1b[2Jboo", 4, 2048, 117);
  table.add("slow", 4, 2048, 200);
  CHECK(has(table.words(1), "\\x1b[2Jboo"));
  CHECK_FALSE(has(table.words(1), "\x1b"));
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

TEST_CASE("thousands of rows that contradict each other are told quickly", "[measured][doubts]") {
  Table table;
  for (int i = 0; i < 2000; ++i)
    cell(table.add("r" + std::to_string(i), 1 << (i % 4), 2048, i % 7 == 0 ? 300 : 100), "mem_gb") =
        70 - i % 50;
  const auto before = std::clock();
  const auto found = doubts(table.rows, a100);
  const auto took = std::clock() - before;
  CHECK(took < 20 * CLOCKS_PER_SEC);
  for (const auto& list : found) CHECK(list.size() < 10);
}

}  // namespace
}  // namespace orch::published

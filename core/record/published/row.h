#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/record/published/habits.h"

namespace orch::published {

// One published measurement, as its table says it: an empty cell is an empty field. The members are
// named like the columns.
struct Row {
  std::size_t line = 0;
  std::string file;

  std::string id, source, table;
  std::string date;  // YYYY, YYYY-MM or YYYY-MM-DD: they compare as texts
  std::string site, gpu, framework;
  std::string stack;  // of stacks.yaml; empty: by framework and date
  std::optional<std::int64_t> gpus, nodes, gpus_per_node;
  std::optional<std::int64_t> layers, hidden, heads, vocab, seq;
  std::optional<double> params_b;  // the size as it was called, in 1e9
  std::string family;              // gpt, bloom, llama, mpt, nemotron; nothing: by the sizes
  std::optional<std::int64_t> ffn_hidden, kv_heads;
  std::optional<bool> tied;
  std::optional<std::int64_t> tp, pp, dp, context_parallel;
  std::optional<std::int64_t> pp_chunks;   // micro-batches, whatever the name says
  std::optional<std::int64_t> interleave;  // model chunks per stage
  std::optional<std::int64_t> mbs, gas, gbs;
  std::optional<std::int64_t> zero_stage;
  std::string sharding;       // of FSDP, in the words of whoever ran it
  std::string engine;         // of Megatron's relatives: megatron, deepspeed or nanotron
  std::string cross_entropy;  // plain or fused
  std::string offload, act_ckpt, dtype, optimizer, grad_compression;
  std::optional<bool> flash_attn, sequence_parallel, master_weights, fp32_accumulate,
      offload_activations;
  std::optional<std::int64_t> grad_accum;
  std::optional<bool> launch_blocking;
  std::string partition_method;
  std::optional<double> step_time_s, samples_per_s, tflops_per_gpu;
  std::string tflops_formula;
  std::optional<double> days_per_100b_tokens;
  std::optional<double> mem_gb;  // as nvidia-smi shows it: GiB
  std::string mem_of;            // first: of the first pipeline stage; else of the fullest
  std::string status;            // ok, oom, hang, failed (for another reason) or nothing
  std::optional<bool> suspect;   // contradicts itself
  std::string dup_of;            // printed elsewhere as well
  std::string notes;             // in the words of whoever made the table
  std::string inferred;          // columns that the source does not say, separated by ";"

  std::vector<std::string> assumed;  // cells that a habit filled
  Errors flaws;                      // cells that could not be read

  bool left_out() const { return suspect.value_or(false) || !dup_of.empty(); }
};

// The rows of a CSV text. Columns come in any order and unknown ones are ignored; those without
// which no row means anything must be there. A bad cell is a flaw of its row, with line and column:
// one odd row does not spoil a table. Habits fill cells that are empty.
Result<std::vector<Row>> parse_rows(std::string_view text, const std::string& file,
                                    const std::vector<Habit>& habits = {});

}  // namespace orch::published

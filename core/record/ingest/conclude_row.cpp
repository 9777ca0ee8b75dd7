#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "core/base/text.h"
#include "core/record/ingest/conclude.h"

namespace orch::ingest {
namespace {

using published::Row;
using Count = std::optional<std::int64_t>;

constexpr std::int64_t kMost = 1'000'000'000;

// A count that can be one: logs are hostile, and products of these must not overflow.
Count count(const Run& run, Target target) {
  const auto value = run.settings.whole(target);
  return value && *value >= 1 && *value <= kMost ? value : std::nullopt;
}

// "torch.bfloat16" is bf16.
std::string dtype_word(const std::string& said) {
  const auto word = lower(said);
  if (word.find("bfloat16") != std::string::npos || word.find("bf16") != std::string::npos)
    return "bf16";
  if (word.find("float16") != std::string::npos || word == "half" || word == "fp16") return "fp16";
  if (word.find("float32") != std::string::npos || word == "float" || word == "fp32") return "fp32";
  return printable(word);
}

std::string act_word(const std::string& said) {
  const auto word = lower(said);
  if (word == "true") return "full";
  return word == "false" ? "none" : printable(word);
}

// By which of our names the run's frameworks go together.
std::string framework_of(const Run& run, Row& row, std::vector<std::string>& assumed) {
  const auto has = [&](const char* name) { return run.frameworks.contains(name); };
  if (run.settings.has(Target::framework)) return printable(run.settings.text(Target::framework));
  const std::string tail = row.zero_stage.value_or(0) == 3 ? "-zero3" : "";
  // Several may say something of themselves; whose steps they are is no question.
  const auto& steps = run.step_framework;
  if (!steps.empty() && steps != "megatron" && steps != "deepspeed" && steps != "huggingface")
    return printable(steps);
  if (has("megatron")) return has("deepspeed") ? "megatron-deepspeed" + tail : "megatron";
  if (has("deepspeed")) return has("huggingface") ? "hf-deepspeed" + tail : "deepspeed";
  if (has("huggingface")) {
    if (run.settings.flag(Target::fsdp).value_or(false)) return "fsdp";
    row.inferred = "framework";  // a table keeps this
    assumed.emplace_back("framework ddp: a Trainer that names neither DeepSpeed nor FSDP");
    return "ddp";
  }
  return run.frameworks.empty() ? "" : printable(*run.frameworks.begin());
}

void fill_model(const Run& run, Row& row) {
  row.layers = count(run, Target::layers);
  row.hidden = count(run, Target::hidden);
  row.heads = count(run, Target::heads);
  row.vocab = count(run, Target::vocab);
  if (!row.vocab) row.vocab = count(run, Target::vocab_padded);
  row.seq = count(run, Target::seq);
  if (!row.seq && run.seq >= 1 && run.seq < 1e9) row.seq = static_cast<std::int64_t>(run.seq);
}

void fill_layout(const Run& run, Row& row) {
  row.gpus = count(run, Target::gpus);
  row.tp = count(run, Target::tp);
  row.pp = count(run, Target::pp);
  row.dp = count(run, Target::dp);
  row.nodes = count(run, Target::nodes);
  row.gpus_per_node = count(run, Target::gpus_per_node);
  row.interleave = count(run, Target::interleave);
}

// World size, tensor, pipeline and data parallelism: the missing one follows from the others.
void complete_layout(std::int64_t context_parallel, Row& row) {
  if (!row.gpus && row.nodes && row.gpus_per_node && *row.nodes * *row.gpus_per_node <= kMost)
    row.gpus = *row.nodes * *row.gpus_per_node;
  if (row.gpus || row.dp) {
    if (!row.tp) row.tp = 1;
    if (!row.pp) row.pp = 1;
  }
  const auto model = static_cast<double>(row.tp.value_or(1)) *
                     static_cast<double>(row.pp.value_or(1)) *
                     static_cast<double>(context_parallel);
  if (!row.gpus && row.dp && model * static_cast<double>(*row.dp) <= kMost)
    row.gpus = static_cast<std::int64_t>(model) * *row.dp;
  if (row.gpus && !row.dp && model <= kMost && *row.gpus % static_cast<std::int64_t>(model) == 0)
    row.dp = *row.gpus / static_cast<std::int64_t>(model);
  if (row.gpus && row.nodes && !row.gpus_per_node && *row.gpus % *row.nodes == 0)
    row.gpus_per_node = *row.gpus / *row.nodes;
  if (row.gpus && !row.nodes && row.gpus_per_node && *row.gpus % *row.gpus_per_node == 0)
    row.nodes = *row.gpus / *row.gpus_per_node;
}

void fill_interleave(const Run& run, Row& row) {
  if (const auto chunk = count(run, Target::layers_per_chunk);
      !row.interleave && chunk && row.layers && row.pp && *row.layers % (*row.pp * *chunk) == 0)
    row.interleave = *row.layers / (*row.pp * *chunk);
}

void fill_batch(const Run& run, Row& row) {
  row.mbs = count(run, Target::mbs);
  row.gas = count(run, Target::gas);
  row.gbs = count(run, Target::gbs);
  if (const double each = run.micro_batches.each();
      !row.gas && !run.counts_micro_batches && each >= 1 && each == std::floor(each) && each <= kMost)
    row.gas = static_cast<std::int64_t>(each);
  if (run.batch >= 1 && run.batch <= kMost && !run.settings.is_given(Target::gbs)) {
    const auto stepped = static_cast<std::int64_t>(run.batch);
    if (row.gbs && *row.gbs != stepped) row.gas.reset();  // of another part of a ramp
    row.gbs = stepped;
  }
}

// Global batch = micro-batch x accumulation x data parallelism: again the missing one.
void complete_batch(Row& row) {
  if (!row.dp && row.mbs && row.gbs) {
    const auto share = static_cast<double>(*row.mbs) * static_cast<double>(row.gas.value_or(1));
    if (row.gas && share <= kMost && *row.gbs % static_cast<std::int64_t>(share) == 0)
      row.dp = *row.gbs / static_cast<std::int64_t>(share);
  }
  if (!row.dp || !row.mbs) {
    if (!row.mbs && row.dp && row.gbs && row.gas &&
        static_cast<double>(*row.dp) * static_cast<double>(*row.gas) <= kMost &&
        *row.gbs % (*row.dp * *row.gas) == 0)
      row.mbs = *row.gbs / (*row.dp * *row.gas);
    return;
  }
  const auto share = static_cast<double>(*row.mbs) * static_cast<double>(*row.dp);
  if (share > kMost) return;
  const auto whole = static_cast<std::int64_t>(share);
  // DeepSpeed inside Megatron knows the accumulation of the beginning of a ramp only.
  if (row.gbs && *row.gbs % whole == 0) row.gas = *row.gbs / whole;
  if (!row.gbs && row.gas && share * static_cast<double>(*row.gas) <= kMost)
    row.gbs = whole * *row.gas;
}

// dp may have followed from the batch.
void fill_layout_from_batch(std::int64_t context_parallel, Row& row) {
  if (!row.dp) return;
  if (!row.tp) row.tp = 1;
  if (!row.pp) row.pp = 1;
  const double ranks = static_cast<double>(*row.dp) * static_cast<double>(*row.tp) *
                       static_cast<double>(*row.pp) * static_cast<double>(context_parallel);
  if (ranks <= kMost) row.gpus = static_cast<std::int64_t>(ranks);
}

// The ranks of all stages together; where they are tied, the last stage has a copy of the
// embedding.
std::optional<double> summed_params(const Run& run, const Row& row) {
  if (run.rank_params.empty() || !row.tp || !row.pp) return std::nullopt;
  if (static_cast<double>(run.rank_params.size()) !=
      static_cast<double>(*row.tp) * static_cast<double>(*row.pp))
    return std::nullopt;
  double sum = 0;
  for (const auto& [rank, params] : run.rank_params) sum += params;
  const auto padded = run.settings.number(Target::vocab_padded);
  const bool tied = !run.settings.flag(Target::untied).value_or(false);
  if (*row.pp > 1 && tied && padded && row.hidden)
    sum -= *padded * static_cast<double>(*row.hidden);
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

// "0.12" billion may be 124 million: what the ranks say is more exact, where it may be the same.
bool is_rounded(double params, double exact) {
  const double hundredths = params / 1e7;
  return std::abs(hundredths - std::round(hundredths)) < 1e-6 && std::abs(exact - params) < 6e6;
}

void fill_params(const Run& run, Row& row) {
  auto params = run.settings.number(Target::params);
  const auto sum = summed_params(run, row);
  if (!params || (sum && is_rounded(*params, *sum))) params = sum;
  const auto part = run.settings.number(Target::partition_params);
  // ZeRO-3 shards over the data-parallel ranks, and tensor parallelism over the others.
  if (!params && part && row.zero_stage.value_or(3) == 3 && row.gpus)
    params = *part * static_cast<double>(*row.gpus);
  if (params && *params > 0 && std::isfinite(*params)) row.params_b = *params / 1e9;
}

void fill_words(const Run& run, Row& row) {
  const auto& settings = run.settings;
  row.gpu = printable(settings.text(Target::gpu));
  row.site = printable(settings.text(Target::site));
  row.optimizer = printable(settings.text(Target::optimizer));
  row.partition_method = printable(settings.text(Target::partition_method));
  row.grad_compression = printable(settings.text(Target::grad_compression));
  if (settings.has(Target::dtype)) row.dtype = dtype_word(settings.text(Target::dtype));
  if (settings.has(Target::act_ckpt)) row.act_ckpt = act_word(settings.text(Target::act_ckpt));
  const auto away = [&](Target target) {
    const auto& word = settings.text(target);
    return word == "cpu" || word == "nvme";
  };
  if (away(Target::offload_weights))
    row.offload = "full";
  else if (away(Target::offload_optimizer))
    row.offload = "optimizer";
  else if (row.zero_stage)
    row.offload = "none";
  row.flash_attn = settings.flag(Target::flash_attn);
  row.sequence_parallel = settings.flag(Target::sequence_parallel);
  row.fp32_accumulate = settings.flag(Target::fp32_accumulate);
  row.offload_activations = settings.flag(Target::offload_activations);
  row.master_weights = settings.flag(Target::master_weights);
  row.launch_blocking = settings.flag(Target::launch_blocking);
}

// What a rule knows as a habit is no word of the log.
void note_assumed(const Run& run, Row& row) {
  for (std::size_t i = 0; i < kSettings; ++i) {
    const auto target = static_cast<Target>(i);
    if (!run.settings.has(target) || !run.settings.is_assumed(target)) continue;
    const auto column = std::string(name(target));
    row.inferred += (row.inferred.empty() ? "" : ";") + column;
    row.assumed.push_back(column + ": a habit of the framework, not said");
  }
}

}  // namespace

void complete_row(const Run& run, Row& row) {
  const auto context_parallel = count(run, Target::cp).value_or(1);
  complete_layout(context_parallel, row);
  complete_batch(row);
  if (!row.gpus) fill_layout_from_batch(context_parallel, row);
}

void fill_row(const Run& run, Row& row) {
  fill_model(run, row);
  if (const auto stage = run.settings.whole(Target::zero_stage);
      stage && *stage >= 0 && *stage <= 3)
    row.zero_stage = stage;
  fill_layout(run, row);
  fill_batch(run, row);
  complete_row(run, row);
  fill_interleave(run, row);
  fill_params(run, row);
  fill_words(run, row);
  row.framework = framework_of(run, row, row.assumed);
  note_assumed(run, row);
}

void note_layout(const Run& run, Row& row) {
  constexpr std::array kDivide{"maxtext", "nanotron", "nemo", "torchtitan"};
  if (std::find(kDivide.begin(), kDivide.end(), row.framework) == kDivide.end()) return;
  if (row.gpus.value_or(0) == 1) return;
  for (const auto& [target, cell] :
       {std::pair{Target::tp, row.tp}, std::pair{Target::pp, row.pp}}) {
    if (run.settings.has(target) || cell.value_or(0) != 1) continue;
    row.inferred += (row.inferred.empty() ? "" : ";") + std::string(name(target));
    row.assumed.push_back(std::string(name(target)) + " 1: not said");
  }
}

}  // namespace orch::ingest

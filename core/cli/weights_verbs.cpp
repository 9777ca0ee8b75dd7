#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {

void add_weights_verbs(CLI::App& program, Arguments& to) {
  auto* out = program.add_subcommand("export", "Weights of a checkpoint for Hugging Face");
  out->add_option("RUN", to.exports.from, "A run folder, a run by its id or hash, or a checkpoint")->required();
  add_runs(*out, to.exports.runs);
  out->add_option("-o,--output", to.exports.output, "A new folder")->required();
  out->add_option("--step", to.exports.step, "Of this step (default: the newest that is whole)")
      ->check(whole_number(0, 1e15));
  out->add_option("--dtype", to.exports.dtype, "The type of the weights")
      ->check(one_of({"f32", "bf16", "f16"}))
      ->capture_default_str();
  out->add_option("--architecture", to.exports.architecture,
                  "Of transformers: mistral for a llama that it computes too (default: what fits)");
  out->footer(R"(
Examples:
  orch export runs/tiny/gpt-ddp-4gpu-1a2b3c4d -o exported
  orch export runs/tiny/gpt-ddp-4gpu-1a2b3c4d/checkpoints/step-00000050 -o exported --dtype bf16

transformers' AutoModelForCausalLM.from_pretrained("exported") loads it: gpt as GPT-2, bloom as BLOOM,
  llama as Llama, with qkv_bias as Qwen2, with qk_norm as Qwen3. A tokenizer is not part of it.)");

  auto* in = program.add_subcommand("import", "Weights from Hugging Face as a checkpoint");
  in->add_option("FOLDER", to.imports.from, "With config.json and safetensors")->required();
  in->add_option("-o,--output", to.imports.output, "A new folder")->required();
  in->footer(R"(
Examples:
  orch import gpt2 -o gpt2-weights

The checkpoint has step 0 and weights alone; training = { init = "gpt2-weights" } begins with them.
  GPT-2, BLOOM, Llama, Mistral, Qwen2 and Qwen3, in one file or several, in f32, f16, bf16 or f64.)");
}

}  // namespace orch::cli

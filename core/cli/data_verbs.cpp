#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {

void declare_data_build(CLI::App& verb, app::DataBuildArguments& to) {
  verb.add_option("INPUT", to.inputs, "Files of text or .jsonl; - is stdin")->required();
  verb.add_option("-o,--output", to.output, "Where to write: PREFIX.bin and PREFIX.idx")
      ->required()
      ->type_name("PREFIX");
  verb.add_option("--tokenizer", to.tokenizer, "byte, or a tokenizer.json of Hugging Face")
      ->capture_default_str();
  verb.add_option("--type", to.documents.type, "What the inputs are; auto goes by their names")
      ->check(one_of({"auto", "text", "jsonl"}))
      ->capture_default_str();
  verb.add_option("--json-key", to.documents.json_key, "The text's name in each line of .jsonl")
      ->capture_default_str();
  verb.add_flag("--split-lines", to.documents.split_lines,
                "Text: a document is a line, not a file");
  verb.add_flag("--append-eod,!--no-eod", to.append_eod,
                "End each document with the end-of-text token, or not");
  verb.add_option("--eod", to.eod, "That token, instead of the tokenizer's own")
      ->type_name("TOKEN");
  verb.add_flag("--force", to.force, "Replace what is there");
}

void declare_data_show(CLI::App& verb, app::DataShowArguments& to) {
  verb.add_option("PREFIX", to.prefix, "Of the two files")->required();
  add_format(verb, to.common, {"table", "md", "csv", "json"});
  verb.add_option("--tokenizer", to.tokenizer, "Show the first tokens as text too");
  verb.add_flag("--quick", to.quick, "Do not read all the tokens, only the index");
}

void declare_export(CLI::App& verb, app::ExportArguments& to) {
  verb.add_option("RUN", to.from, "A run folder, a run by its id or hash, or a checkpoint")
      ->required();
  add_runs(verb, to.runs);
  verb.add_option("-o,--output", to.output, "A new folder")->required();
  add_count(verb, "--step", to.step, "Of this step (default: the newest that is whole)", 0, 1e15);
  verb.add_option("--dtype", to.dtype, "The type of the weights")
      ->check(one_of({"f32", "bf16", "f16"}))
      ->capture_default_str();
  verb.add_option("--architecture", to.architecture,
                  "Of transformers: mistral for a llama that it computes too (default: what fits)");
}

void declare_import(CLI::App& verb, app::ImportArguments& to) {
  verb.add_option("FOLDER", to.from, "With config.json and safetensors")->required();
  verb.add_option("-o,--output", to.output, "A new folder")->required();
}

}  // namespace orch::cli

#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {

void declare_data_build(CLI::App& verb, app::DataBuildArguments& to) {
  verb.add_option("INPUT", to.inputs, "Text or .jsonl files; - is stdin")->required();
  verb.add_option("-o,--output", to.output, "Output prefix: writes PREFIX.bin and PREFIX.idx")
      ->required()
      ->type_name("PREFIX");
  verb.add_option("--tokenizer", to.tokenizer, "byte, or a tokenizer.json of Hugging Face")
      ->capture_default_str();
  verb.add_option("--type", to.documents.type, "Type of the inputs (auto: by file name)")
      ->check(one_of({"auto", "text", "jsonl"}))
      ->capture_default_str();
  verb.add_option("--json-key", to.documents.json_key, "Field of the text in each line of .jsonl")
      ->capture_default_str();
  verb.add_flag("--split-lines", to.documents.split_lines,
                "Text: each line is a document, not each file");
  verb.add_flag("--append-eod,!--no-eod", to.append_eod,
                "Whether to end each document with the end-of-text token");
  verb.add_option("--eod", to.eod, "End-of-text token, instead of the tokenizer's own")
      ->type_name("TOKEN");
  verb.add_flag("--force", to.force, "Replace existing files");
}

void declare_data_show(CLI::App& verb, app::DataShowArguments& to) {
  verb.add_option("PREFIX", to.prefix, "Prefix of the two files")->required();
  add_format(verb, to.common);
  verb.add_option("--tokenizer", to.tokenizer, "Show the first tokens as text too");
  verb.add_flag("--quick", to.quick, "Read only the index, not the tokens");
}

void declare_export(CLI::App& verb, app::ExportArguments& to) {
  verb.add_option("RUN", to.from, "A run folder, a run by its id or hash, or a checkpoint")
      ->required();
  add_runs(verb, to.runs);
  verb.add_option("-o,--output", to.output, "A new folder")->required();
  add_count(verb, "--step", to.step, "Step of the checkpoint (default: the newest complete one)", 0,
            1e15);
  verb.add_option("--dtype", to.dtype, "Number format of the weights")
      ->check(one_of({"f32", "bf16", "f16"}))
      ->capture_default_str();
  verb.add_option("--architecture", to.architecture,
                  "Architecture of transformers: mistral for a llama that it can express (default: "
                  "by the model)");
}

void declare_import(CLI::App& verb, app::ImportArguments& to) {
  verb.add_option("FOLDER", to.from, "Folder with config.json and safetensors")->required();
  verb.add_option("-o,--output", to.output, "A new folder")->required();
}

}  // namespace orch::cli

#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {
namespace {

void add_build(CLI::App& data, DataBuildArguments& to) {
  auto* verb = data.add_subcommand("build", "Text to PREFIX.bin and PREFIX.idx");
  verb->add_option("INPUT", to.inputs, "Files of text or .jsonl; - is stdin")->required();
  verb->add_option("-o,--output", to.output, "Where to write: PREFIX.bin and PREFIX.idx")
      ->required()
      ->type_name("PREFIX");
  verb->add_option("--tokenizer", to.tokenizer, "byte, or a tokenizer.json of Hugging Face")
      ->capture_default_str();
  verb->add_option("--type", to.type, "What the inputs are; auto goes by their names")
      ->check(one_of({"auto", "text", "jsonl"}))
      ->capture_default_str();
  verb->add_option("--json-key", to.json_key, "The text's name in each line of .jsonl")
      ->capture_default_str();
  verb->add_flag("--split-lines", to.split_lines, "Text: a document is a line, not a file");
  verb->add_flag("--append-eod,!--no-eod", to.append_eod,
                 "End each document with the end-of-text token, or not");
  verb->add_option("--eod", to.eod, "That token, instead of the tokenizer's own")
      ->type_name("TOKEN");
  verb->add_flag("--force", to.force, "Replace what is there");
  verb->footer(R"(
Examples:
  orch data build book.txt -o data/book
  orch data build wiki-*.jsonl -o data/wiki --tokenizer gpt2/tokenizer.json
  zcat pile.jsonl.gz | orch data build - --type jsonl -o data/pile --tokenizer tokenizer.json

The files are Megatron-LM's indexed dataset. A file of text is one document, a line of .jsonl another.
  Splits for validation are by documents: --split-lines makes many of one file.
  The index comes last: whoever finds PREFIX.idx finds all of it.
Byte-level BPE is understood (GPT-2, BLOOM, Llama 3, Qwen); the byte tokenizer has 257 tokens.)");
}

void add_show(CLI::App& data, DataShowArguments& to) {
  auto* verb = data.add_subcommand("show", "What PREFIX.bin and PREFIX.idx hold; checks them");
  verb->add_option("PREFIX", to.prefix, "Of the two files")->required();
  add_format(verb, to.common, {"table", "json"});
  verb->add_option("--tokenizer", to.tokenizer, "Show the first tokens as text too");
  verb->add_flag("--quick", to.quick, "Do not read all the tokens, only the index");
  verb->footer(
      "\nExamples:\n  orch data show data/wiki\n"
      "  orch data show data/book --tokenizer byte");
}

}  // namespace

void add_data_verbs(CLI::App& program, Arguments& to) {
  auto* data = program.add_subcommand("data", "Make and look at training data");
  data->require_subcommand(1);
  add_build(*data, to.data_build);
  add_show(*data, to.data_show);
  data->footer("\nExamples:\n  orch data build book.txt -o data/book\n  orch data show data/book");
}

}  // namespace orch::cli

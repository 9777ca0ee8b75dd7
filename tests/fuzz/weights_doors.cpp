#include <algorithm>
#include <cstring>
#include <limits>

#include "core/train/checkpoint/checkpoint.h"
#include "core/train/checkpoint/checksum.h"
#include "core/train/checkpoint/manifest.h"
#include "core/train/data/dataset.h"
#include "core/train/data/indexed_writer.h"
#include "core/train/huggingface/huggingface.h"
#include "tests/fuzz/doors.h"
#include "tests/train/tokenize/gpt2.h"

namespace orch::fuzz {
namespace {

constexpr std::string_view kSeal = ",\"sum\":\"";

// A changed text must not be refused only because of its checksum: it is computed again.
std::string sealed_again(const std::string& text) {
  const auto body = text.substr(0, text.rfind(kSeal));
  return body + std::string(kSeal) + checkpoint::hex(checkpoint::checksum(body)) + "\"}\n";
}

InputPart* find(Input& input, const std::string& name) {
  const auto found = std::find_if(input.begin(), input.end(),
                                  [&](const InputPart& part) { return part.name == name; });
  return found == input.end() ? nullptr : &*found;
}

// A readable manifest gets shards that match it: otherwise no reader would get beyond it.
void fit_shards(checkpoint::Manifest& manifest, Input& input) {
  for (std::size_t rank = 0; rank < manifest.shards.size(); ++rank) {
    auto& shard = manifest.shards[rank];
    auto* part = find(input, "step-00000000/" + checkpoint::shard_name(rank));
    if (!part)
      part = &input.emplace_back(InputPart{"step-00000000/" + checkpoint::shard_name(rank), ""});
    if (shard.bytes < (1u << 20)) part->bytes.resize(shard.bytes);
    shard.checksum = checkpoint::checksum(part->bytes);
  }
}

void read_all(const checkpoint::CheckpointReader& reader) {
  for (const auto& name : reader.names()) {
    const auto* any = reader.find(name);
    const auto whole = checkpoint::TensorPiece::whole(name, any->dtype, any->shape);
    if (whole.end > (1 << 20)) continue;
    std::vector<std::byte> to(static_cast<std::size_t>(whole.end) *
                              checkpoint::bytes_of(any->dtype));
    (void)reader.read(whole, to);
  }
}

template <class T>
T required(Result<T> result) {
  if (!result) throw std::runtime_error(text(result.error()));
  return std::move(*result);
}

}  // namespace

std::vector<Input> checkpoint_seeds() {
  std::vector<Input> seeds;
  for (const auto* model : {"gpt2", "bloom"}) {
    furnish({});
    const auto imported = required(
        huggingface::import_model(kSource / "tests/runtime/recorded" / model, room() / "weights"));
    seeds.push_back(folder_as_seed(imported.checkpoint, "step-00000000"));
  }
  return seeds;
}

void enter_checkpoint(const Input& input) {
  auto parts = input;
  if (auto* json = find(parts, "step-00000000/checkpoint.json")) {
    json->bytes = sealed_again(json->bytes);
    if (auto manifest = checkpoint::parse_checkpoint_json(json->bytes, "checkpoint.json")) {
      fit_shards(*manifest, parts);
      find(parts, "step-00000000/checkpoint.json")->bytes = checkpoint::checkpoint_json(*manifest);
    }
  }
  furnish(parts);
  if (const auto reader = checkpoint::CheckpointReader::open(room() / "step-00000000"))
    read_all(*reader);
  orch({"export", "step-00000000", "-o", "exported", "--dtype",
        choice(input, 2) == 0 ? "f32" : "bf16"});
}

std::vector<Input> huggingface_seeds() {
  std::vector<Input> seeds;
  for (const auto* model : {"gpt2", "bloom"}) {
    seeds.push_back(folder_as_seed(kSource / "tests/runtime/recorded" / model, "model"));
    std::erase_if(seeds.back(),
                  [](const InputPart& part) { return part.name.ends_with("logits.json"); });
  }
  return seeds;
}

void enter_huggingface(const Input& input) {
  furnish(input);
  orch({"import", "model", "-o", "imported"});
}

std::vector<Input> tokenizer_seeds() {
  auto json = tokenize::gpt2_json();
  auto split = json;
  split["pre_tokenizer"] = tokenize::Json::parse(
      R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"},)"
      R"("behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})");
  return {{{"", json.dump()}}, {{"", split.dump()}}};
}

void enter_tokenizer(const Input& input) {
  furnish({{"tokenizer.json", input.front().bytes},
           {"book.txt", "This is the test, and 12345 worlds!\n\n  the\xff\xc3 end <|endoftext|> " +
                            std::string(300, 'a')}});
  orch({"data", "build", "book.txt", "-o", "book", "--tokenizer", "tokenizer.json", "--no-eod"});
}

std::vector<Input> data_seeds() {
  std::vector<Input> seeds;
  for (const auto dtype : {data::TokenDtype::u16, data::TokenDtype::i32}) {
    furnish({});
    auto writer = required(data::IndexedWriter::create((room() / "d").string(), dtype));
    for (std::int32_t document = 0; document < 40; ++document) {
      std::vector<std::int32_t> tokens(static_cast<std::size_t>(document % 7 * 5));
      for (auto& token : tokens) token = 'a' + document % 26;
      if (!writer.add(tokens) || !writer.end_document()) throw std::runtime_error("no seed");
    }
    if (!writer.finish()) throw std::runtime_error("no seed");
    seeds.push_back({{"d.idx", text_of(room() / "d.idx")}, {"d.bin", text_of(room() / "d.bin")}});
  }
  return seeds;
}

void enter_data(const Input& input) {
  furnish(input);
  orch({"data", "show", "d", "--tokenizer", "byte", "--format",
        choice(input, 2) == 0 ? "table" : "json"});
  data::DatasetOptions options;
  options.prefix = (room() / "d").string();
  options.seq = 16;
  options.vocab = 300;
  options.samples = 100;
  const auto dataset = data::open_dataset(options);
  if (!dataset) return;
  std::vector<std::int32_t> sample(17);
  for (std::int64_t i = 0; i < std::min<std::int64_t>((*dataset)->size(), 100); ++i) try {
      (*dataset)->read(i, sample);
    } catch (const std::runtime_error&) {  // as in its header
    }
}

}  // namespace orch::fuzz

// The time to build training data, compared with reading the same file; and the time to open it.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "core/base/counter_random.h"
#include "core/train/data/dataset.h"
#include "core/train/data/indexed_writer.h"
#include "core/train/data/mapped_file.h"
#include "core/train/tokenize/byte_alphabet.h"
#include "core/train/tokenize/tokenizer.h"

namespace {

using namespace orch;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", text(result.error()).c_str());
  std::exit(1);
}

// 64 MB of words with natural frequencies (Zipf), of letters with natural frequencies.
struct Corpus {
  std::string folder = "/tmp/orch-bench-data-" + std::to_string(::getpid());
  std::string file = folder + "/text.txt";
  std::vector<std::string> words;

  Corpus() {
    std::filesystem::create_directories(folder);
    const std::string letters = "eeeeeettttaaaaooooiiinnnsssrrrhhhldcumfpgwybvkxjqz";
    for (std::uint64_t i = 0; i < 40'000; ++i) {
      words.emplace_back(" ");
      const auto length = 2 + counter_random::bits(1, i) % 9;
      for (std::uint64_t k = 0; k < length; ++k)
        words.back() += letters[counter_random::bits(i + 2, k) % letters.size()];
    }
    std::string text;
    for (std::uint64_t i = 0; text.size() < 64'000'000; ++i) {
      const double u = counter_random::uniform(3, i);
      text += words[static_cast<std::size_t>(std::pow(40'000.0, u)) - 1];
      if (i % 12 == 11) text += i % 60 == 59 ? ".\n" : ",";
    }
    std::ofstream(file) << text;
  }
  ~Corpus() { std::filesystem::remove_all(folder); }

  // A vocabulary of 32,000 in which each of the frequent words is one token, merged letter by
  // letter.
  std::string tokenizer_json() const {
    nlohmann::json vocab, merges = nlohmann::json::array();
    int next = 0;
    for (int byte = 0; byte < 256; ++byte)
      vocab[tokenize::to_byte_alphabet(std::string(1, static_cast<char>(byte)))] = next++;
    for (const auto& word : words)
      for (std::size_t n = 2; n <= word.size() && next < 32'000; ++n) {
        const auto left = tokenize::to_byte_alphabet(word.substr(0, n - 1));
        const auto right = tokenize::to_byte_alphabet(word.substr(n - 1, 1));
        if (vocab.contains(left + right)) continue;
        vocab[left + right] = next++;
        merges.push_back(left + " " + right);
      }
    nlohmann::json json;
    json["model"] = {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}};
    json["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
    return json.dump();
  }
};

Corpus& corpus() {
  static Corpus made;
  return made;
}

void count_rates(benchmark::State& state, double bytes, double tokens) {
  using benchmark::Counter;
  state.counters["bytes/s"] = Counter(bytes, Counter::kIsIterationInvariantRate);
  if (tokens > 0) state.counters["tokens/s"] = Counter(tokens, Counter::kIsIterationInvariantRate);
}

// Like wc -c, if it had to read every byte.
void read_the_file(benchmark::State& state) {
  const auto file = must(data::MappedFile::open(corpus().file));
  for (auto _ : state)
    benchmark::DoNotOptimize(std::accumulate(file.text().begin(), file.text().end(), 0u));
  count_rates(state, static_cast<double>(file.size()), 0);
}

void build(benchmark::State& state, tokenize::Tokenizer& tokenizer) {
  const auto file = must(data::MappedFile::open(corpus().file));
  std::int64_t tokens = 0;
  for (auto _ : state) {
    auto writer = must(data::IndexedWriter::create(corpus().folder + "/built",
                                                   data::dtype_for(tokenizer.vocab_size()), true));
    bool good = true;
    tokenizer.encode(file.text(), [&](std::span<const std::int32_t> some) {
      return good = good && static_cast<bool>(writer.add(some));
    });
    good = good && static_cast<bool>(writer.end_document());
    tokens = writer.tokens();
    if (!good || !writer.finish()) std::exit(1);
  }
  count_rates(state, static_cast<double>(file.size()), static_cast<double>(tokens));
}

void build_bytes(benchmark::State& state) { build(state, *tokenize::byte_tokenizer()); }

void build_bpe(benchmark::State& state) {
  const auto tokenizer =
      must(tokenize::parse_tokenizer_json(corpus().tokenizer_json(), "benchmark"));
  build(state, *tokenizer);
}

// A hundred thousand documents, a million samples: what each rank does before it starts.
void open_a_million_samples(benchmark::State& state) {
  const auto prefix = corpus().folder + "/many";
  auto writer = must(data::IndexedWriter::create(prefix, data::TokenDtype::u16, true));
  const std::vector<std::int32_t> tokens(1024, 7);
  for (std::size_t i = 0; i < 100'000; ++i)
    if (!writer.add(std::span(tokens).first(i % 1024)) || !writer.end_document()) std::exit(1);
  if (!writer.finish()) std::exit(1);
  for (auto _ : state)
    must(data::open_dataset({.prefix = prefix, .seq = 48, .vocab = 257, .samples = 1'000'000}));
}

void read_samples(benchmark::State& state) {
  const auto data =
      must(data::open_dataset({.prefix = corpus().folder + "/many", .seq = 1024, .vocab = 257}));
  std::vector<std::int32_t> sample(1025);
  std::int64_t i = 0;
  for (auto _ : state) data->read(i++ % data->size(), sample);
  count_rates(state, 0, 1024);
}

BENCHMARK(read_the_file)->Name("data: read 64 MB of text")->Unit(benchmark::kMillisecond);
BENCHMARK(build_bytes)->Name("data: build from it, bytes")->Unit(benchmark::kMillisecond);
BENCHMARK(build_bpe)->Name("data: build from it, BPE of 32,000")->Unit(benchmark::kMillisecond);
BENCHMARK(open_a_million_samples)
    ->Name("data: open 51M tokens, 1M samples in order")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(read_samples)->Name("data: read a sample of 1024")->Unit(benchmark::kMicrosecond);

}  // namespace

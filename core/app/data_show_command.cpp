#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/train/data/indexed.h"
#include "core/train/tokenize/tokenizer.h"

namespace orch::app {
namespace {

using TokenList = std::vector<std::int32_t>;

constexpr std::int64_t kFirst = 16;       // number of tokens to print
constexpr std::int64_t kBlock = 1 << 20;  // tokens per read

// Removes the ending if the user named one of the two files.
std::string prefix_of(std::string name) {
  for (const auto* ending : {".bin", ".idx"})
    if (name.ends_with(ending)) name.resize(name.size() - 4);
  return name;
}

struct TokenRange {
  std::int64_t low = std::numeric_limits<std::int64_t>::max();
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
};

TokenRange sizes_of(const data::IndexedFile& file) {
  TokenRange range;
  for (std::int64_t i = 0; i < file.sequences(); ++i) {
    range.low = std::min<std::int64_t>(range.low, file.size(i));
    range.high = std::max<std::int64_t>(range.high, file.size(i));
  }
  return range;
}

// Reads all tokens; nothing after Ctrl-C.
std::optional<TokenRange> tokens_of(const data::IndexedFile& file) {
  TokenRange range;
  TokenList block;
  for (std::int64_t i = 0; i < file.sequences(); ++i)
    for (std::int64_t at = 0; at < file.size(i); at += kBlock) {
      if (interrupted()) return std::nullopt;
      block.resize(static_cast<std::size_t>(std::min(kBlock, file.size(i) - at)));
      file.read(i, at, block);
      const auto [low, high] = std::minmax_element(block.begin(), block.end());
      range.low = std::min<std::int64_t>(range.low, *low);
      range.high = std::max<std::int64_t>(range.high, *high);
    }
  return range;
}

TokenList first_tokens(const data::IndexedFile& file) {
  TokenList out;
  for (std::int64_t i = 0; i < file.sequences() && std::ssize(out) < kFirst; ++i) {
    TokenList some(
        static_cast<std::size_t>(std::min<std::int64_t>(kFirst - std::ssize(out), file.size(i))));
    file.read(i, 0, some);
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

struct ShownSamples {
  const data::IndexedFile& file;
  TokenRange sizes;
  std::optional<TokenRange> tokens;  // none: --quick, or there are no tokens
  TokenList first;
  std::optional<std::string> text;
};

show::Details details_of(const ShownSamples& shown) {
  const auto& file = shown.file;
  show::Details out{"data"};
  const auto add = [&](const char* name, show::Value value) {
    out.pairs.emplace_back(name, std::move(value));
  };
  add("prefix", file.prefix());
  add("documents", file.documents());
  add("sequences", file.sequences());
  add("tokens", file.tokens());
  add("dtype", std::string(data::name(file.dtype())));
  if (file.sequences() > 0) {
    add("shortest", shown.sizes.low);
    add("longest", shown.sizes.high);
  }
  if (shown.tokens) {
    add("lowest_token", shown.tokens->low);
    add("highest_token", shown.tokens->high);
  }
  add("first_tokens", fmt::format("{}", fmt::join(shown.first, " ")));
  if (shown.text) add("first_text", *shown.text);
  return out;
}

std::string as_text(const ShownSamples& shown) {
  const auto& file = shown.file;
  const auto number = [](std::int64_t n) { return group_digits(static_cast<double>(n)); };
  auto out =
      fmt::format("{}: {}, {} tokens ({} of {})\n", printable(file.prefix()),
                  plural(file.documents(), "document"), number(file.tokens()),
                  format_bytes(static_cast<double>(file.tokens() * data::bytes_of(file.dtype()))),
                  data::name(file.dtype()));
  if (file.sequences() != file.documents())
    out += fmt::format("in {} sequences, which are what samples and splits are made of\n",
                       number(file.sequences()));
  if (file.sequences() > 0)
    out += fmt::format("of {} to {} tokens, {:.1f} on average\n", number(shown.sizes.low),
                       number(shown.sizes.high),
                       static_cast<double>(file.tokens()) / static_cast<double>(file.sequences()));
  if (shown.tokens)
    out += fmt::format("tokens {} to {}: for a vocabulary of {} or more\n", shown.tokens->low,
                       shown.tokens->high, number(shown.tokens->high + 1));
  if (!shown.first.empty()) out += fmt::format("first: {}\n", fmt::join(shown.first, " "));
  if (shown.text) out += fmt::format("as text: {}\n", printable(*shown.text));
  return out;
}

show::Answer answer_of(const ShownSamples& shown) {
  return {"", "", {details_of(shown), show::Findings{"", {{"data", as_text(shown)}}}}};
}

}  // namespace

Ending data_show_command(const DataShowArguments& arguments, Console& console) {
  std::unique_ptr<tokenize::Tokenizer> tokenizer;
  if (!arguments.tokenizer.empty()) {
    auto opened = tokenize::open_tokenizer(arguments.tokenizer);
    if (!opened) return opened.error();
    tokenizer = std::move(*opened);
  }
  const auto file = data::IndexedFile::open(prefix_of(arguments.prefix));
  if (!file) return file.error();
  ShownSamples shown{*file, sizes_of(*file), std::nullopt, first_tokens(*file), std::nullopt};
  if (!arguments.quick && file->tokens() > 0) {
    shown.tokens = tokens_of(*file);
    if (!shown.tokens)
      return {Error{"orch data show", "interrupted", "--quick reads only the index"},
              Exit::interrupted};
    if (shown.tokens->low < 0)
      return Error{printable(data::bin_path(file->prefix())),
                   fmt::format("holds the token {}", shown.tokens->low),
                   "build it again: token ids cannot be negative"};
  }
  if (tokenizer) shown.text = tokenizer->decode(shown.first);
  arguments.common.give(answer_of(shown), console);
  return Exit::ok;
}

}  // namespace orch::app

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/train/tokenize/bpe_tokenizer.h"
#include "core/train/tokenize/byte_alphabet.h"
#include "core/train/tokenize/regex_syntax.h"

namespace orch::tokenize {
namespace {

using SortedJson = nlohmann::json;

// The cut of ByteLevel (GPT-2).
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// A problem of a file, thrown while it is read.
struct TokenizerError {
  std::string where;
  std::string fact;
};

[[noreturn]] void unsupported(const std::string& where, const std::string& what) {
  throw TokenizerError{where, what + " is not supported"};
}

const SortedJson& part(const SortedJson& of, const char* name, const std::string& where) {
  if (!of.is_object() || !of.contains(name))
    throw TokenizerError{where, fmt::format("has no {}", name)};
  return of[name];
}

std::string type_of(const SortedJson& of, const std::string& where) {
  const auto& type = part(of, "type", where);
  if (!type.is_string()) throw TokenizerError{where, "its type is not a string"};
  return type.get<std::string>();
}

bool flag(const SortedJson& of, const char* name, bool otherwise) {
  return of.contains(name) && of[name].is_boolean() ? of[name].get<bool>() : otherwise;
}

bool is_empty(const SortedJson& of, const char* name) {
  return !of.contains(name) || of[name].is_null() || of[name] == "" || of[name] == 0.0;
}

Regex must(Result<Regex> regex, const std::string& where) {
  if (regex) return std::move(*regex);
  const auto& error = regex.error().front();
  throw TokenizerError{where, (error.place.empty() ? "" : error.place + ": ") + error.fact};
}

std::int32_t id_of(const SortedJson& id, const std::string& where) {
  if (!id.is_number_integer() || id.get<std::int64_t>() < 0 || id.get<std::int64_t>() > 1 << 30)
    throw TokenizerError{where, "a token id is not an integer from 0 to 2^30"};
  return id.get<std::int32_t>();
}

void read_vocab(const SortedJson& model, TextParts& to) {
  const auto& vocab = part(model, "vocab", "model");
  if (!vocab.is_object()) throw TokenizerError{"model.vocab", "is not a table of tokens"};
  for (const auto& [text, id] : vocab.items()) {
    const auto token = id_of(id, "model.vocab");
    to.names[text] = token;
    // A token outside the byte alphabet is never the result of a merge.
    const auto bytes = from_byte_alphabet(text);
    to.texts[token] = bytes.value_or(text);
    if (bytes) to.model.vocab[*bytes] = token;
  }
  for (int byte = 0; byte < 256; ++byte)
    if (const std::string one(1, static_cast<char>(byte)); !to.model.vocab.contains(one))
      throw TokenizerError{"model.vocab",
                           fmt::format("lacks {} for the byte {:#04x}: not a byte-level BPE",
                                       to_byte_alphabet(one), byte)};
}

std::pair<std::string, std::string> pair_of(const SortedJson& merge, const std::string& where) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return {merge[0], merge[1]};
  if (merge.is_string()) {
    const auto text = merge.get<std::string>();
    const auto space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos)
      return {text.substr(0, space), text.substr(space + 1)};
  }
  throw TokenizerError{where, "is not a pair of tokens"};
}

void read_merges(const SortedJson& model, TextParts& to) {
  const auto& merges = part(model, "merges", "model");
  if (!merges.is_array()) throw TokenizerError{"model.merges", "is not a list"};
  to.model.merges = PairTable(merges.size());
  std::uint32_t rank = 0;
  for (const auto& merge : merges) {
    const auto where = fmt::format("model.merges[{}]", rank);
    const auto [left, right] = pair_of(merge, where);
    const auto token = [&](const std::string& text) {
      const auto found = to.names.find(text);
      if (found == to.names.end())
        throw TokenizerError{where, fmt::format("'{}' is not in the vocabulary", printable(text))};
      return found->second;
    };
    // Separate statements: the order of evaluation of arguments is unspecified, and the first
    // missing token must be the reported one.
    const auto first = token(left);
    const auto second = token(right);
    const auto whole = token(left + right);
    to.model.merges.add(first, second, {rank++, whole});
  }
}

void read_model(const SortedJson& file, TextParts& to) {
  const auto& model = part(file, "model", "the file");
  // Old files omit the type.
  if (const auto type = model.contains("type") ? type_of(model, "model") : "BPE"; type != "BPE")
    unsupported("model", "type " + type);
  for (const auto* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    if (!is_empty(model, name)) unsupported("model", name);
  if (flag(model, "byte_fallback", false)) unsupported("model", "byte_fallback");
  to.model.ignore_merges = flag(model, "ignore_merges", false);
  read_vocab(model, to);
  read_merges(model, to);
}

SplitStep byte_level(const SortedJson& step, const std::string& where) {
  SplitStep cut;
  cut.add_prefix_space = flag(step, "add_prefix_space", true);
  if (flag(step, "use_regex", true)) cut.pattern = must(compile(kByteLevelPattern), where);
  return cut;
}

SplitStep split(const SortedJson& step, const std::string& where) {
  const auto& pattern = part(step, "pattern", where);
  SplitStep cut;
  if (pattern.contains("Regex") && pattern["Regex"].is_string())
    cut.pattern = must(compile(pattern["Regex"].get<std::string>()), where);
  else if (pattern.contains("String") && pattern["String"].is_string())
    cut.pattern = must(
        Regex::compile(pattern["String"].get<std::string>(), {.unicode = true, .literal = true}),
        where);
  else
    throw TokenizerError{where, "its pattern is neither Regex nor String"};
  const auto& behavior = part(step, "behavior", where);
  const bool invert = flag(step, "invert", false);
  if (behavior == "Removed") {
    cut.keep_matches = invert;
    cut.keep_between = !invert;
  } else if (behavior != "Isolated") {
    unsupported(where, "behavior " + behavior.dump());
  }
  return cut;
}

SplitStep digits(const SortedJson& step, const std::string& where) {
  SplitStep cut;
  const bool each = flag(step, "individual_digits", false);
  cut.pattern = must(compile(each ? R"(\p{N})" : R"(\p{N}+)"), where);
  return cut;
}

// Returns true if the following steps work on bytes.
bool read_pre_tokenizer(const SortedJson& step, const std::string& where,
                        std::vector<SplitStep>& to) {
  const auto type = type_of(step, where);
  if (type == "Sequence") {
    bool bytes = false;
    std::size_t i = 0;
    for (const auto& inner : part(step, "pretokenizers", where)) {
      if (bytes) unsupported(where, "a step after ByteLevel");
      bytes = read_pre_tokenizer(inner, fmt::format("{}[{}]", where, i++), to);
    }
    return bytes;
  }
  if (type == "ByteLevel") {
    to.push_back(byte_level(step, where));
    return true;
  }
  if (type == "Split")
    to.push_back(split(step, where));
  else if (type == "Digits")
    to.push_back(digits(step, where));
  else
    unsupported(where, "type " + type);
  return false;
}

void read_normalizer(const SortedJson& step, const std::string& where, TextParts& to) {
  const auto type = type_of(step, where);
  if (type == "Sequence")
    for (const auto& inner : part(step, "normalizers", where)) read_normalizer(inner, where, to);
  else if (type == "NFC")
    to.nfc = true;
  else
    unsupported(where, "type " + type);
}

void read_added(const SortedJson& file, TextParts& to) {
  if (!file.contains("added_tokens")) return;
  for (const auto& token : file["added_tokens"]) {
    const auto& content = part(token, "content", "added_tokens");
    if (!content.is_string()) throw TokenizerError{"added_tokens", "the content is not a string"};
    const auto text = content.get<std::string>();
    const auto where = "added token '" + printable(text) + "'";
    for (const auto* name : {"single_word", "lstrip", "rstrip"})
      if (flag(token, name, false)) unsupported(where, name);
    const auto id = id_of(part(token, "id", where), where);
    to.names[text] = id;
    to.texts[id] = text;
    to.added.emplace_back(text, id);
  }
}

TextParts read(const SortedJson& file) {
  TextParts parts;
  read_model(file, parts);
  const auto given = [&](const char* name) { return file.contains(name) && !file[name].is_null(); };
  if (given("normalizer")) read_normalizer(file["normalizer"], "normalizer", parts);
  if (!given("pre_tokenizer") ||
      !read_pre_tokenizer(file["pre_tokenizer"], "pre_tokenizer", parts.cuts))
    throw TokenizerError{"pre_tokenizer",
                         "does not end with ByteLevel: only byte-level BPE is supported"};
  read_added(file, parts);
  return parts;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> parse_tokenizer_json(const std::string& text,
                                                        const std::string& place) {
  const auto complain = [&](const std::string& where, const std::string& fact) {
    return Error{printable(place) + (where.empty() ? "" : ": " + where), fact,
                 "give a tokenizer.json with a byte-level BPE, as GPT-2, BLOOM or Llama 3 have"};
  };
  try {
    const auto json = parse_json(text);
    if (json.is_discarded()) return complain("", "is not JSON, or is nested too deeply");
    return make_bpe_tokenizer(read(json));
  } catch (const SortedJson::exception& error) {
    return complain("", printable(error.what()));
  } catch (const TokenizerError& bad) {
    return complain(bad.where, bad.fact);
  }
}

}  // namespace orch::tokenize

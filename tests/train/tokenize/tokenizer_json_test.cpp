#include <catch2/catch_test_macros.hpp>

#include "tests/train/tokenize/gpt2.h"

using namespace orch;
using namespace orch::tokenize;

namespace {

using TokenList = std::vector<std::int32_t>;

// A vocabulary in which every word of the list is one token, so that tokens show where words end.
// (ignore_merges: no merges are needed.)
Json with_words(const std::vector<std::string>& words, const Json& pre_tokenizer) {
  auto json = gpt2_json();
  json["pre_tokenizer"] = pre_tokenizer;
  json["model"]["ignore_merges"] = true;
  json["model"]["merges"] = Json::array();
  int token = 1000;
  for (const auto& word : words) json["model"]["vocab"][to_byte_alphabet(word)] = token++;
  return json;
}

// True if the text is cut into exactly these words. Each is a token; so is the whole text, and each
// two consecutive words: a missing cut is detected.
bool cuts(const Json& pre_tokenizer, const std::vector<std::string>& words) {
  std::vector<std::string> vocab = words;
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += words[i];
    if (i > 0) vocab.push_back(words[i - 1] + words[i]);
  }
  vocab.push_back(text);
  const auto tokenizer = open(with_words(vocab, pre_tokenizer));
  if (!tokenizer) return false;
  std::vector<std::string> got;
  for (const auto token : tokenizer->encode(text))
    got.push_back(tokenizer->decode(TokenList{token}));
  return got == words;
}

Json split(const std::string& regex, const std::string& behavior = "Isolated",
           bool invert = false) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", behavior},
          {"invert", invert}};
}

Json sequence(const Json& first) {
  const Json bytes{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {first, bytes}}};
}

const Json kByteLevel{{"type", "ByteLevel"}, {"add_prefix_space", false}};
const std::string kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kBloom = " ?[^(\\s|[.,!?…。，、।۔،])]+";

}  // namespace

TEST_CASE("GPT-2's tokens are those that are published", "[tokenize][json]") {
  const auto tokenizer = open(gpt2_json());
  REQUIRE(tokenizer);
  CHECK(tokenizer->vocab_size() == 50257);
  CHECK(tokenizer->end_of_text() == 50256);
  // "This is a test." in OpenAI's API description; p50k and GPT-2 agree on it.
  CHECK(tokenizer->encode("This is a test.") == TokenList{1212, 318, 257, 1332, 13});
  // From Hugging Face's test_tokenization_gpt2.py, without the words that need other merges.
  CHECK(tokenizer->encode("This is a test\nI was in, and is.") ==
        TokenList{1212, 318, 257, 1332, 198, 40, 373, 287, 11, 290, 318, 13});
  CHECK(tokenizer->encode("\n\n \n  \n") == TokenList{628, 220, 198, 220, 220, 198});
  CHECK(tokenizer->encode("\n<s>\nThe") == TokenList{198, 27, 82, 29, 198, 464});
  // " world" is 995 and " the" is 262 in every description of GPT-2.
  CHECK(tokenizer->encode(" of the world") == TokenList{286, 262, 995});
}

TEST_CASE("special tokens are found in text", "[tokenize][json]") {
  auto json = gpt2_json();
  auto longer = json["added_tokens"][0];
  longer["content"] = "<|endoftext|>>";
  longer["id"] = 50257;
  json["added_tokens"].push_back(longer);
  const auto tokenizer = open(json);
  REQUIRE(tokenizer);
  CHECK(tokenizer->encode("a<|endoftext|> the<|endoftext|>>") == TokenList{64, 50256, 262, 50257});
  CHECK(tokenizer->encode("<|endoftext|").size() > 3);
  CHECK(tokenizer->vocab_size() == 50258);
  CHECK(tokenizer->decode(TokenList{262, 50256}) == " the<|endoftext|>");
  CHECK(tokenizer->find(" the") == 262);
  CHECK(tokenizer->find("<|endoftext|>>") == 50257);
  CHECK_FALSE(tokenizer->find("nothing"));
}

TEST_CASE("text is cut as GPT-2 cuts it", "[tokenize][json]") {
  CHECK(cuts(kByteLevel, {"I", "'ve", " 12", " apples", "!!", " \n", " é", "tat"}) == false);
  CHECK(cuts(kByteLevel, {"I", "'ve", " 12", " apples", "!!", " ", "\n", "état"}));
  CHECK(cuts(kByteLevel, {"They", "'LL"}) == false);
  CHECK(cuts(kByteLevel, {"They", "'", "LL"}));
  CHECK(cuts(kByteLevel, {"a", "  ", " b", "  "}));
  CHECK(cuts(kByteLevel, {"生活", "。", "生"}));
}

TEST_CASE("text is cut as Llama 3 and Qwen cut it", "[tokenize][json]") {
  const auto llama = sequence(split(kLlama3));
  CHECK(cuts(llama, {"They", "'LL", " see", " ", "123", "456", "7", ".\n\n", "End"}));
  CHECK(cuts(llama, {"\tif", " (", "x", "):\r\n", "   ", " return"}));
  auto qwen = kLlama3;
  qwen.replace(qwen.find("{1,3}"), 5, "");
  CHECK(cuts(sequence(split(qwen)), {"a", "1", "2", "3"}));
}

TEST_CASE("text is cut as BLOOM cuts it", "[tokenize][json]") {
  const auto bloom = sequence(split(kBloom));
  CHECK(cuts(bloom, {"Hello", ",", " world1", "!", " it's"}));
  CHECK(cuts(bloom, {"生活", "。", "真谛"}));
  CHECK(cuts(bloom, {"f", "(", "x", ")"}));
  CHECK(cuts(bloom, {"a", "|", "b[c]"}));  // '[' does not belong to the class, '|' and '(' do
}

TEST_CASE("a Split removes, or keeps only, what it matches", "[tokenize][json]") {
  const auto tokens = [](const Json& pre) {
    return open(with_words({"ab", "cd", "-"}, sequence(pre)))->encode("ab-cd-");
  };
  CHECK(tokens(split("-")) == TokenList{1000, 1002, 1001, 1002});
  CHECK(tokens(split("-", "Removed")) == TokenList{1000, 1001});
  CHECK(tokens(split("[a-d]+", "Removed", true)) == TokenList{1000, 1001});
  Json literal = split("");
  literal["pattern"] = {{"String", "-"}};
  CHECK(tokens(literal) == TokenList{1000, 1002, 1001, 1002});
  literal["pattern"] = {{"String", "."}};
  CHECK(tokens(literal).size() == 6);  // no regular expression: nothing to cut
}

TEST_CASE("Digits are cut one by one or together", "[tokenize][json]") {
  Json digits{{"type", "Digits"}, {"individual_digits", true}};
  CHECK(cuts(sequence(digits), {"a", "1", "2", "b"}));
  digits["individual_digits"] = false;
  CHECK(cuts(sequence(digits), {"a", "12", "b"}));
}

TEST_CASE("a space goes before text that has none, if asked for", "[tokenize][json]") {
  auto json = gpt2_json();
  json["pre_tokenizer"]["add_prefix_space"] = true;
  CHECK(open(json)->encode("is the") == TokenList{318, 262});
  CHECK(open(json)->encode(" is the") == TokenList{318, 262});
}

TEST_CASE("merges may be pairs, as new files write them", "[tokenize][json]") {
  auto json = gpt2_json();
  auto& merges = json["model"]["merges"];
  for (auto& merge : merges) {
    const auto text = merge.get<std::string>();
    merge = {text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)};
  }
  CHECK(open(json)->encode("This is a test.") == TokenList{1212, 318, 257, 1332, 13});
}

TEST_CASE("ignore_merges takes a word that is a token", "[tokenize][json]") {
  auto json = gpt2_json();
  json["model"]["vocab"]["Ġxyz"] = 7000;
  CHECK(open(json)->encode(" xyz").size() == 4);
  json["model"]["ignore_merges"] = true;
  CHECK(open(json)->encode(" xyz") == TokenList{7000});
  CHECK(open(json)->encode(" world") == TokenList{995});  // other words are merged as before
}

TEST_CASE("text is composed where NFC is asked for", "[tokenize][json]") {
  auto json = gpt2_json();
  json["normalizer"] = {{"type", "NFC"}};
  const auto tokenizer = open(json);
  CHECK(tokenizer->decode(tokenizer->encode("e\u0301 ok")) == "\u00e9 ok");
}

TEST_CASE("what a tokenizer.json asks for and we do not do is an error", "[tokenize][json]") {
  const auto with = [](const char* pointer, const Json& value) {
    auto json = gpt2_json();
    json[Json::json_pointer(pointer)] = value;
    return error_of(json);
  };
  CHECK(error_of(gpt2_json()) == "opened");
  CHECK(has(with("/model/type", "Unigram"), "model: type Unigram is not supported"));
  CHECK(has(with("/model/dropout", 0.1), "dropout is not supported"));
  CHECK(has(with("/model/byte_fallback", true), "byte_fallback is not supported"));
  CHECK(has(with("/model/end_of_word_suffix", "</w>"), "end_of_word_suffix is not supported"));
  CHECK(has(with("/normalizer", {{"type", "Lowercase"}}), "type Lowercase is not supported"));
  CHECK(has(with("/pre_tokenizer", nullptr), "does not end with ByteLevel"));
  CHECK(has(with("/pre_tokenizer", split("-")), "does not end with ByteLevel"));
  CHECK(has(with("/pre_tokenizer", {{"type", "Metaspace"}}), "type Metaspace is not supported"));
  CHECK(has(with("/pre_tokenizer", sequence(split("-", "MergedWithNext"))),
            "pre_tokenizer[0]: behavior \"MergedWithNext\" is not supported"));
  CHECK(has(with("/pre_tokenizer", sequence(split("(a"))), "missing closing parenthesis"));
  CHECK(has(with("/pre_tokenizer", sequence(split("\\w+"))), "\\w at position 0"));
  CHECK(has(with("/added_tokens/0/lstrip", true), "lstrip is not supported"));
  CHECK(has(with("/model/merges/0", "a b c"), "model.merges[0]: is not a pair"));
  // The first of the two, then the second, then their result: this order, on every machine.
  CHECK(has(with("/model/merges/3", "zz top"), "model.merges[3]: 'zz' is not in the vocabulary"));
  CHECK(has(with("/model/merges/3", "A top"), "model.merges[3]: 'top' is not in the vocabulary"));
  CHECK(has(with("/model/merges/3", "A A"), "model.merges[3]: 'AA' is not in the vocabulary"));
  CHECK(has(with("/model/vocab/A", -1), "not an integer from 0"));
  CHECK(has(with("/model/vocab", Json::object()), "lacks Ā for the byte 0x00"));
}

TEST_CASE("damaged files are errors", "[tokenize][json]") {
  const auto good = gpt2_json().dump();
  for (const auto& bad : {std::string(), std::string("{}"), std::string("[1]"), std::string("\xff"),
                          good.substr(0, good.size() / 2), std::string(R"({"model": 3})"),
                          std::string(R"({"model": {"vocab": [], "merges": {}}})"),
                          std::string(R"({"model": {"type": 4}})")})
    CHECK_FALSE(parse_tokenizer_json(bad, "tokenizer.json"));
}

#include "core/train/tokenize/regex_syntax.h"

#include <fmt/format.h>

#include <stdexcept>

#include "core/base/text.h"

namespace orch::tokenize {
namespace {

// Unicode's White_Space; PCRE2's \s also contains U+180E.
constexpr std::string_view kSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
// Escapes with the same meaning; all other letters differ or are undefined.
constexpr std::string_view kSameEscapes = "pPdDnrtfaex";

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> translate() {
    while (at_ < pattern_.size()) {
      if (auto status = outside(); !status) return status.error();
    }
    return std::move(out_);
  }

 private:
  Error cannot(std::string_view what) const {
    return {"regular expression " + printable(pattern_),
            fmt::format("{} at position {} is not supported", printable(what), at_), ""};
  }

  bool next_is(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }

  void copy(std::size_t characters = 1) {
    out_ += pattern_.substr(at_, characters);
    at_ += characters;
  }

  Status outside() {
    if (next_is("[")) return in_class(false);
    if (next_is("\\")) return escape(false);
    if (next_is("(?")) return group();
    // "}+" is a repeated repetition in Oniguruma, but a possessive one in PCRE2.
    if (next_is("}+")) return cannot("}+");
    copy();
    return {};
  }

  // Reads flags up to ':' or ')'; Oniguruma's m is PCRE2's s.
  Status group() {
    for (auto i = at_ + 2; i < pattern_.size(); ++i) {
      const char c = pattern_[i];
      if (c == 'i' || c == '-') continue;
      if (c == ':' || c == ')' || c == '=' || c == '!' || c == '<' || c == '>') break;
      return cannot(pattern_.substr(at_, i + 1 - at_));
    }
    copy(2);
    return {};
  }

  // A class in a class means their union.
  Status in_class(bool nested) {
    if (next_is("[^") && nested) return cannot("a negated class within a class");
    if (!nested) {
      copy(next_is("[^") ? 2 : 1);
    } else {
      ++at_;
    }
    while (at_ < pattern_.size() && !next_is("]")) {
      if (next_is("&&")) return cannot("&&");
      if (next_is("[:")) return cannot("[:");
      if (next_is("[") || next_is("\\")) {
        if (auto status = next_is("[") ? in_class(true) : escape(true); !status) return status;
      } else {
        copy();
      }
    }
    if (at_ == pattern_.size()) return cannot("a class without an end");
    if (!nested) out_ += ']';
    ++at_;
    return {};
  }

  Status escape(bool within_class) {
    if (at_ + 1 == pattern_.size()) return cannot("\\ at the end");
    const char c = pattern_[at_ + 1];
    if (c == 's' || c == 'S') return space(c == 'S', within_class);
    if (c == 'u' || c == 'v') {
      out_ += c == 'v' ? "\\x{b}" : fmt::format("\\x{{{}}}", pattern_.substr(at_ + 2, 4));
      at_ += c == 'v' ? 2 : 6;
      if (at_ > pattern_.size()) return cannot("\\u");
      return {};
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter && kSameEscapes.find(c) == std::string_view::npos)
      return cannot(pattern_.substr(at_, 2));
    copy(2);
    // The braces of a property or a number are not a repetition.
    const auto end = letter && next_is("{") ? pattern_.find('}', at_) : std::string_view::npos;
    if (end != std::string_view::npos) copy(end + 1 - at_);
    return {};
  }

  Status space(bool negated, bool within_class) {
    if (negated && within_class) return cannot("\\S within a class");
    out_ += within_class ? std::string(kSpace) : fmt::format("[{}{}]", negated ? "^" : "", kSpace);
    at_ += 2;
    return {};
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> to_pcre(std::string_view pattern) { return Translator(pattern).translate(); }

Result<Regex> compile(std::string_view oniguruma) {
  const auto pattern = to_pcre(oniguruma);
  if (!pattern) return pattern.error();
  auto regex = Regex::compile(*pattern, {.unicode = true, .lines = true});
  if (regex) return regex;
  return Error{"regular expression " + printable(oniguruma), regex.error().front().fact, ""};
}

std::optional<RegexMatch> find(const Regex& regex, std::string_view text, std::size_t from) {
  while (from < text.size() && regex.search(text, from)) {
    const RegexMatch match{regex.match_begin(), regex.match_end()};
    if (match.end > match.begin) return match;
    from = match.end + 1;  // after an empty match, continue with the next character
    while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;
  }
  if (const auto why = regex.gave_up(); from < text.size() && !why.empty())
    throw std::runtime_error("cannot split text into words: " + why);
  return std::nullopt;
}

}  // namespace orch::tokenize

#include "core/tokenize/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdexcept>
#include <string>

#include "core/base/text.h"
#include "core/tokenize/regex_syntax.h"

namespace orch::tokenize {
namespace {

std::string words_of(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

constexpr std::size_t kStack = 1 << 20;  // of the machine code, for long runs of white space

}  // namespace

struct Regex::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_data* found = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
  bool fast = false;

  ~Compiled() {
    pcre2_match_data_free(found);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
    pcre2_code_free(code);
  }

  static std::unique_ptr<Compiled> make(std::string_view pattern, std::uint32_t options, int& error,
                                        std::size_t& place) {
    auto out = std::make_unique<Compiled>();
    out->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options,
                              &error, &place, nullptr);
    if (!out->code) return nullptr;
    out->found = pcre2_match_data_create_from_pattern(out->code, nullptr);
    out->context = pcre2_match_context_create(nullptr);
    out->fast = pcre2_jit_compile(out->code, PCRE2_JIT_COMPLETE) == 0;
    if (out->fast) out->stack = pcre2_jit_stack_create(32 << 10, kStack, nullptr);
    if (out->stack) pcre2_jit_stack_assign(out->context, nullptr, out->stack);
    return out;
  }

  int match(std::string_view text, std::size_t from) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    int result = PCRE2_ERROR_JIT_STACKLIMIT;
    if (fast) result = pcre2_jit_match(code, subject, text.size(), from, 0, found, context);
    // The interpreter takes its memory from the heap.
    if (result == PCRE2_ERROR_JIT_STACKLIMIT)
      result = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                           found, context);
    return result;
  }
};

Regex::Regex(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view oniguruma) {
  const auto pattern = to_pcre(oniguruma);
  if (!pattern) return pattern.error();
  int error = 0;
  std::size_t place = 0;
  // There ^ and $ always are the ends of a line.
  auto compiled = Compiled::make(*pattern, PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, error, place);
  if (!compiled) return Error{"regular expression " + printable(oniguruma), words_of(error), ""};
  return Regex(std::move(compiled));
}

Result<Regex> Regex::literal(std::string_view text) {
  int error = 0;
  std::size_t place = 0;
  auto compiled = Compiled::make(text, PCRE2_UTF | PCRE2_LITERAL, error, place);
  if (!compiled) return Error{"pattern " + printable(text), words_of(error), ""};
  return Regex(std::move(compiled));
}

std::optional<Match> Regex::find(std::string_view text, std::size_t from) const {
  while (from < text.size()) {
    const int code = compiled_->match(text, from);
    if (code == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (code < 0) throw std::runtime_error("cannot split text into words: " + words_of(code));
    const auto* ends = pcre2_get_ovector_pointer(compiled_->found);
    if (ends[1] > ends[0]) return Match{ends[0], ends[1]};
    from = ends[1] + 1;  // an empty match: try from the next character on
    while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;
  }
  return std::nullopt;
}

}  // namespace orch::tokenize

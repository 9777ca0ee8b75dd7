#include "core/base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace orch {
namespace {

constexpr std::size_t kFirstStack = 32 << 10;
constexpr std::size_t kLargestStack = 1 << 20;  // of the machine code, for long character runs

std::string words_of(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

std::uint32_t flags_of(const RegexOptions& options) {
  const std::uint32_t unicode = options.unicode ? PCRE2_UTF : 0;
  if (options.literal) return unicode | PCRE2_LITERAL;
  return unicode | PCRE2_DUPNAMES | (options.unicode ? PCRE2_UCP : 0) |
         (options.lines ? PCRE2_MULTILINE : 0);
}

}  // namespace

struct Regex::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_data* found = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
  bool fast = false;
  std::string_view text;  // the text of the last search
  int outcome = 0;        // the result of the last search

  ~Compiled() {
    pcre2_match_data_free(found);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
    pcre2_code_free(code);
  }

  void prepare(std::uint32_t most_tries) {
    found = pcre2_match_data_create_from_pattern(code, nullptr);
    context = pcre2_match_context_create(nullptr);
    if (most_tries > 0) pcre2_set_match_limit(context, most_tries);
    fast = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
    if (fast) stack = pcre2_jit_stack_create(kFirstStack, kLargestStack, nullptr);
    if (stack) pcre2_jit_stack_assign(context, nullptr, stack);
  }

  int match(std::size_t from) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    int result = PCRE2_ERROR_JIT_STACKLIMIT;
    if (fast) result = pcre2_jit_match(code, subject, text.size(), from, 0, found, context);
    // The interpreter allocates from the heap instead.
    if (result == PCRE2_ERROR_JIT_STACKLIMIT)
      result = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                           found, context);
    return result;
  }
};

Regex::Regex(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {
  std::uint32_t count = 0, size = 0;
  PCRE2_SPTR table = nullptr;
  pcre2_pattern_info(compiled_->code, PCRE2_INFO_NAMECOUNT, &count);
  pcre2_pattern_info(compiled_->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
  pcre2_pattern_info(compiled_->code, PCRE2_INFO_NAMETABLE, &table);
  for (std::uint32_t i = 0; i < count; ++i, table += size)
    groups_.emplace_back(reinterpret_cast<const char*>(table + 2),
                         static_cast<std::size_t>(table[0]) << 8 | table[1]);
}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern, const RegexOptions& options) {
  auto compiled = std::make_unique<Compiled>();
  int error = 0;
  std::size_t place = 0;
  compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                 flags_of(options), &error, &place, nullptr);
  if (!compiled->code)
    return Error{"", words_of(error) + " at character " + std::to_string(place + 1), ""};
  compiled->prepare(options.most_tries);
  return Regex(std::move(compiled));
}

bool Regex::search(std::string_view text, std::size_t from) const {
  compiled_->text = text;
  compiled_->outcome = compiled_->match(from);
  return compiled_->outcome > 0;
}

std::size_t Regex::match_begin() const { return pcre2_get_ovector_pointer(compiled_->found)[0]; }
std::size_t Regex::match_end() const { return pcre2_get_ovector_pointer(compiled_->found)[1]; }

std::string_view Regex::group(std::size_t index) const {
  const auto* ends = pcre2_get_ovector_pointer(compiled_->found);
  const auto begin = ends[2 * index], end = ends[2 * index + 1];
  // \K can make a match end before it begins.
  if (begin == PCRE2_UNSET || end < begin) return {};
  return compiled_->text.substr(begin, end - begin);
}

std::string Regex::gave_up() const {
  const bool through = compiled_->outcome >= 0 || compiled_->outcome == PCRE2_ERROR_NOMATCH;
  return through ? "" : words_of(compiled_->outcome);
}

}  // namespace orch

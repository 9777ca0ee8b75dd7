#include "core/ingest/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/text.h"

namespace orch::ingest {
namespace {

// Far beyond what any sensible pattern needs on a line of a log.
constexpr std::uint32_t kMostTries = 200'000;

std::string words_of(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

struct Regex::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_data* found = nullptr;
  pcre2_match_context* context = nullptr;
  std::string_view text;  // of the last search

  ~Compiled() {
    pcre2_match_data_free(found);
    pcre2_match_context_free(context);
    pcre2_code_free(code);
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

Result<Regex> Regex::compile(std::string_view pattern) {
  auto compiled = std::make_unique<Compiled>();
  int error = 0;
  std::size_t place = 0;
  // A group may occur in two branches.
  compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                 PCRE2_DUPNAMES, &error, &place, nullptr);
  if (!compiled->code)
    return Error{"", words_of(error) + " at character " + std::to_string(place + 1), ""};
  compiled->found = pcre2_match_data_create_from_pattern(compiled->code, nullptr);
  compiled->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(compiled->context, kMostTries);
  pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);
  return Regex(std::move(compiled));
}

bool Regex::search(std::string_view text, std::size_t from) const {
  compiled_->text = text;
  return pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                     0, compiled_->found, compiled_->context) > 0;
}

std::size_t Regex::match_end() const { return pcre2_get_ovector_pointer(compiled_->found)[1]; }

std::string_view Regex::group(std::size_t index) const {
  const auto* ends = pcre2_get_ovector_pointer(compiled_->found);
  const auto begin = ends[2 * index], end = ends[2 * index + 1];
  // \K can make a match end before it begins.
  if (begin == PCRE2_UNSET || end < begin) return {};
  return compiled_->text.substr(begin, end - begin);
}

}  // namespace orch::ingest

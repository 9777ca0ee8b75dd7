#include "core/record/ingest/fields.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/base/text.h"
#include "core/record/ingest/number.h"

namespace orch::ingest {
namespace {

constexpr std::size_t kMostKeys = 64;  // keys of a line that are remembered

// True if the text between a number and the next bar is valid: nothing, a unit ("TFLOPS", "ms"), a
// second number as in "134.5/135.1", "153.8GB/102.2GB" and "496.3 (avg 496.1)", or the next record
// where lines do not end in a bar. Any other text was printed by another rank in between, and the
// number may be incomplete.
bool may_follow(std::string_view rest, bool bar_at_end) {
  std::size_t at = 0;
  skip_blanks(rest, at);
  if (at == rest.size() || rest[at] == '|' || rest[at] == '(') return true;
  if (rest[at] == '[') return !bar_at_end;
  if (rest[at] == '/' || rest[at] == '%') return at == 0;
  while (at < rest.size() &&
         (std::isalpha(static_cast<unsigned char>(rest[at])) != 0 || rest[at] == '/'))
    ++at;
  if (at > 1 && at < rest.size() && rest[at - 1] == '/' && is_digit(rest[at])) return true;
  skip_blanks(rest, at);
  return at == rest.size() || rest[at] == '|';
}

// Looks at the next characters first: values are short, so the bar is usually near.
std::size_t find_bar(std::string_view text, std::size_t at) {
  const auto near = std::min(text.size(), at + 24);
  for (; at < near; ++at)
    if (text[at] == '|') return at;
  return std::min(text.find('|', at), text.size());
}

// Reads a number at `at` that is followed by a valid text. Returns its end, 0 if there is none.
std::size_t number_at(std::string_view text, std::size_t at, bool bar_at_end, double& value) {
  if (at >= text.size()) return 0;
  const char* const end = text.data() + text.size();
  const char* const stop = read_number(text.data() + at, end, value);
  if (!stop) return 0;
  const auto size = static_cast<std::size_t>(stop - text.data());
  if (end - stop >= 2 && stop[0] == ' ' && stop[1] == '|') return size;
  if (const auto factor = suffix_factor(text.substr(size)); factor != 1) {
    value *= factor;
    return size + 1;
  }
  return may_follow(text.substr(size), bar_at_end) ? size : 0;
}

// A blank in the literal matches any number of blanks.
bool literal_at(std::string_view literal, std::string_view text, std::size_t& at) {
  if (text.substr(at).starts_with(literal)) {
    at += literal.size();
    return true;
  }
  for (const char c : literal) {
    if (c == ' ') {
      skip_blanks(text, at);
    } else {
      if (at >= text.size() || text[at] != c) return false;
      ++at;
    }
  }
  return true;
}

}  // namespace

bool FieldsReader::head(const FieldsRule& rule, std::string_view text, std::size_t& at,
                        TargetValues& values) {
  for (const auto& piece : rule.head) {
    if (!literal_at(piece.literal, text, at)) return false;
    if (piece.number == IngestTarget::count_) continue;
    skip_blanks(text, at);
    if (at >= text.size()) return false;
    double value = 0;
    const char* const stop = read_number(text.data() + at, text.data() + text.size(), value);
    if (!stop) return false;
    const auto end = static_cast<std::size_t>(stop - text.data());
    if (type(piece.number) == Type::text)
      values.set_text(piece.number, text.substr(at, end - at));
    else
      values.set(piece.number, value);
    at = end;
    skip_blanks(text, at);
  }
  return true;
}

bool FieldsReader::begins_record(std::string_view text) {
  const auto& rules = patterns_.fields_by_byte[static_cast<unsigned char>(text.front())];
  return std::any_of(rules.begin(), rules.end(), [&](std::uint16_t rule) {
    std::size_t at = 0;
    return head(patterns_.fields[rule], text, at, scratch_);
  });
}

bool FieldsReader::has_record(std::size_t rule, std::string_view text) {
  const auto& wanted = patterns_.fields[rule];
  const auto first = trim(wanted.head.front().literal);
  for (auto found = text.find(first); found != text.npos; found = text.find(first, found + 1)) {
    std::size_t at = 0;
    if (head(wanted, text.substr(found), at, scratch_)) return true;
  }
  return false;
}

bool FieldsReader::begins_inside(std::string_view text) {
  const auto segment = text.substr(0, find_bar(text, 0));
  const auto colon = segment.rfind(": ");
  double value = 0;
  if (segment.size() == text.size() || colon == segment.npos) return false;
  auto at = colon + 1;
  skip_blanks(segment, at);
  return number_at(segment, at, true, value) > 0;
}

bool FieldsReader::is_expected(const Shape& keys, std::size_t place, std::string_view text,
                               std::size_t at) {
  if (place >= keys.size()) return false;
  const auto size = keys[place].first.size();
  return text.size() - at > size && text[at + size] == ':' &&
         std::memcmp(text.data() + at, keys[place].first.data(), size) == 0;
}

bool FieldsReader::key_without_colon(const FieldsRule& rule, std::string_view segment,
                                     std::size_t& at, const ValueMeaning*& meaning) {
  const auto value = trim(segment).rfind(' ');
  if (value == std::string_view::npos) return false;
  meaning = meaning_of(rule.keys, trim(segment.substr(0, value)));
  if (meaning) at += value + 1;
  return meaning != nullptr;
}

bool FieldsReader::other_key(const FieldsRule& rule, Shape& keys, std::size_t place,
                             std::string_view text, std::size_t& at, const ValueMeaning*& meaning) {
  const auto segment = text.substr(at, find_bar(text, at) - at);
  const auto colon = segment.find(':');
  if (colon == std::string_view::npos) return key_without_colon(rule, segment, at, meaning);
  const auto found = segment.substr(0, colon);
  meaning = meaning_of(rule.keys, found);
  if (place < keys.size()) keys.resize(place);
  if (place == keys.size() && place < kMostKeys) keys.emplace_back(std::string(found), meaning);
  at += colon + 1;
  return true;
}

FieldsReader::Parsed FieldsReader::fields(std::size_t index, std::string_view text, std::size_t at,
                                          TargetValues& values) {
  const auto& rule = patterns_.fields[index];
  auto& keys = shapes_[index];
  Parsed parsed;
  for (std::size_t place = 0;; ++place) {
    skip_blanks(text, at);
    parsed.end = at;
    if (at >= text.size()) break;
    if (text[at] != '|') return parsed;  // another record begins without a bar
    ++at;
    skip_blanks(text, at);
    parsed.last = IngestTarget::count_;
    parsed.end = at;
    if (at >= text.size()) return parsed;
    const ValueMeaning* meaning = nullptr;
    if (is_expected(keys, place, text, at)) {
      meaning = keys[place].second;
      at += keys[place].first.size() + 1;
    } else if (!other_key(rule, keys, place, text, at, meaning)) {
      const auto bar = find_bar(text, at);
      if (bar == text.size()) break;  // the key was cut
      if (begins_record(text.substr(at))) return parsed;
      at = bar;
      continue;
    }
    skip_blanks(text, at);
    double value = 0;
    const auto stop = meaning ? number_at(text, at, rule.bar_at_end, value) : 0;
    if (stop == 0) {
      at = find_bar(text, at);
      continue;
    }
    if (meaning->target == IngestTarget::count_) {
      put(*meaning, text.substr(at, stop - at), values);
    } else if (type(meaning->target) == Type::number) {
      values.set(meaning->target, value * meaning->scale / meaning->over);
      parsed.last = meaning->target;
    }
    ++parsed.fields;
    at = stop;
    skip_blanks(text, at);
    const bool ends = at >= text.size() || text[at] == '|' || text[at] == '[';
    if (!ends) at = find_bar(text, at);
  }
  parsed.closed = !rule.bar_at_end;
  if (!parsed.closed) parsed.end = text.size();
  return parsed;
}

bool FieldsReader::timer(std::string_view text, std::size_t& at, bool whole, TargetValues& values) {
  while (true) {
    skip_blanks(text, at);
    if (at >= text.size() || text[at] != '|') return false;
    ++at;
    skip_blanks(text, at);
    const auto bar = find_bar(text, at);
    const auto segment = text.substr(at, bar - at);
    const auto colon = segment.find(": ");
    if (colon == std::string_view::npos) return false;
    at += colon + 2;
    skip_blanks(text, at);
    double value = 0;
    const auto stop = number_at(text, at, false, value);
    at = stop > 0 ? stop : bar;
    // The log may end in the middle of a number.
    if (stop == 0 || (!whole && stop == text.size())) continue;
    values.clear();
    values.set_text(IngestTarget::timer, trim(segment.substr(0, colon)));
    values.set(IngestTarget::timer_seconds, value / 1000);
    return true;
  }
}

void put(const ValueMeaning& meaning, std::string_view value, TargetValues& values) {
  if (!meaning.when.empty() && value != meaning.when) return;
  if (const auto slash = value.find('/');
      meaning.of != IngestTarget::count_ && slash != value.npos) {
    values.read(meaning.of, value.substr(slash + 1));
    value = value.substr(0, slash);
  }
  if (meaning.target != IngestTarget::count_)
    values.read(meaning.target, value, meaning.scale, meaning.over);
  else if (!meaning.more.empty())
    values.more.emplace_back(meaning.more, value);
  put(meaning.settings, values);
}

void put(const std::vector<RuleSetting>& settings, TargetValues& values) {
  for (const auto& setting : settings) {
    if (setting.target == IngestTarget::count_)
      values.more.emplace_back(setting.more, setting.value);
    else
      values.read(setting.target, setting.value);
  }
}

}  // namespace orch::ingest

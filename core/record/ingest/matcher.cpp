#include "core/record/ingest/matcher.h"

#include <algorithm>
#include <cctype>

#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/record/ingest/number.h"
#include "core/record/ingest/prefix.h"

// Recognises the known lines of a log, in one pass. A line first loses its prefix (rank, time:
// prefix.h). It is then tried in this order: as a row of an open table; as the rest of a record
// that the end of the previous line had cut (held_); as an indented line below a rule's own line
// (block_). Otherwise scan() reads records of fields one after the other from its beginning, which
// is the fast path for nearly all lines; lines without them are tried as "key ... value" arguments,
// as an object (JSON or a Python dictionary), and last against the rules' regular expressions, of
// which only those are run whose literal occurs in the line. Values go to the session, which
// decides which run and step they belong to. A record that is cut stays held until following lines
// complete it or kMostWaits of them do not.

namespace orch::ingest {
namespace {

constexpr std::size_t kLongestForRegex = std::size_t{16} << 10;
constexpr std::size_t kLongestRecord = 8192;
constexpr std::size_t kLongestObject = std::size_t{64} << 10;
constexpr int kMostRecords = 64;            // records that begin in the middle of a line
constexpr std::uint64_t kSectionLines = 4;  // lines below the one that opens a section
constexpr std::size_t kMostBelow = 256;     // lines of a block
constexpr std::size_t kLongestValue = 256;  // of a line of a block
constexpr int kMostWaits = 2;               // lines that may come between the halves of a record

bool is_key_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

bool has_any(std::string_view text, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const auto& word) { return text.find(word) != text.npos; });
}

// GPT-NeoX prints the origin of each value behind it: "44..........updated".
std::string_view without_origin(std::string_view value) {
  for (const std::string_view mark : {"..updated", "..default"}) {
    if (!value.ends_with(mark)) continue;
    value.remove_suffix(mark.size());
    while (value.ends_with('.')) value.remove_suffix(1);
  }
  return value;
}

// Splits "  key ........ value" and "  long_key  value".
bool split_argument(std::string_view text, std::string_view& key, std::string_view& value) {
  std::size_t at = 0;
  skip_blanks(text, at);
  const auto begin = at;
  while (at < text.size() && is_key_character(text[at])) ++at;
  key = text.substr(begin, at - begin);
  if (key.empty() || at >= text.size() || text[at] != ' ') return false;
  const auto gap = at;
  while (at < text.size() && (text[at] == '.' || text[at] == ' ')) ++at;
  // The point of ".5" belongs to the value.
  if (at < text.size() && text[at - 1] == '.' && is_digit(text[at])) --at;
  value = without_origin(trim(text.substr(at)));
  // "….: 12.3" is a timer of recent versions of Megatron.
  return at - gap >= 2 && !value.starts_with(':');
}

}  // namespace

Matcher::Matcher(const Patterns::Impl& patterns, LogSession& session)
    : patterns_(patterns),
      session_(session),
      fields_(patterns),
      ends_in_bar_(patterns.fields.size()),
      wraps_(patterns.fields.size()),
      hit_at_(patterns.lines.size(), 0) {}

void Matcher::take(LogLine line) {
  if (line.number == 1) line.text = without_mark(line.text);
  if (line.number == 1 && begins_table(line.text)) return;
  if (table_ && table_line(line)) return;
  const auto prefix = read_prefix(line.text);
  const auto text = line.text.substr(prefix.begin);
  if (held_ && complete_held(text)) return;
  if (block_ && extends_block(text)) return;
  before_ = last_record_;
  last_record_ = -1;
  records_left_ = kMostRecords;
  scan(text, {line.number, prefix.label, prefix.stamp, text}, line.whole);
}

void Matcher::finish() {
  give_up_held();
  close_block();
}

bool Matcher::extends_block(std::string_view text) {
  const auto line = trim(text);
  const bool indented = text.starts_with(' ') || text.starts_with('\t');
  if (!indented || line.empty() || block_->said.size() >= kMostBelow) {
    close_block();
    return false;
  }
  // The line is like "train/CrossEntropyLoss=11.25" or "Train loss/train/total: 8.4213".
  auto end = line.find(": ");
  const auto equals = line.find('=');
  if (end == line.npos || equals < end) end = equals;
  if (end == line.npos) return false;
  const auto* meaning = meaning_of(block_->rule->below, trim(line.substr(0, end)));
  if (meaning == nullptr) return false;
  const auto value = line.substr(end + (line[end] == ':' ? 2 : 1), kLongestValue);
  block_->said.emplace_back(meaning, std::string(value));
  return true;
}

void Matcher::close_block() {
  if (!block_) return;
  const auto block = std::move(*block_);
  block_.reset();
  const auto& rule = *block.rule;
  values_.clear();
  if (!rule.regex.search(block.text, 0)) return;
  read_match(rule);
  for (const auto& [meaning, value] : block.said) put(*meaning, value, values_);
  session_.take(rule, values_, {block.line, block.label, block.stamp, block.text});
}

void Matcher::read_match(const LineRule& rule) {
  for (const auto& [index, meaning] : rule.groups)
    if (const auto value = rule.regex.group(index); !value.empty()) put(meaning, value, values_);
  put(rule.settings, values_);
}

void Matcher::scan(std::string_view text, const TextPlace& where, bool whole) {
  std::size_t at = 0;
  bool found = false;
  skip_blanks(text, at);
  // The fast path reads one record after the other from the beginning of the line.
  while (at < text.size()) {
    const auto end = fields_at(text.substr(at), where, whole);
    if (end == 0) break;
    found = true;
    at += end;
    skip_blanks(text, at);
  }
  if (at >= text.size()) return;
  // A terminal wrapped the line behind a bar, so the record before this line was read without its
  // rest. From now on such records are held.
  if (!found && before_ >= 0 && FieldsReader::begins_inside(text))
    wraps_[static_cast<std::size_t>(before_)] = true;
  if (found || !(arguments(text, {}, where) || object(text, where))) lines(text.substr(at), where);
  nesting_.take(text);
}

std::size_t Matcher::fields_at(std::string_view text, const TextPlace& where, bool whole) {
  for (const auto rule : patterns_.fields_by_byte[static_cast<unsigned char>(text.front())])
    if (const auto end = try_fields(rule, text, where, whole); end > 0) return end;
  return 0;
}

std::size_t Matcher::try_fields(std::size_t index, std::string_view text, const TextPlace& where,
                                bool whole) {
  const auto& rule = patterns_.fields[index];
  std::size_t at = 0;
  values_.clear();
  if (!FieldsReader::head(rule, text, at, values_)) return 0;
  if (rule.kind == RuleKind::none) return text.size();
  if (rule.kind == RuleKind::timers) {
    if (!session_.wants_timers()) return text.size();
    while (FieldsReader::timer(text, at, whole, values_)) session_.take(rule, values_, where);
    return at;
  }
  // A text may precede the bar: "validation loss at iteration 100 on validation set | …".
  if (rule.kind == RuleKind::facts) at = std::min(text.find('|', at), text.size());
  const auto parsed = fields_.fields(index, text, at, values_);
  if (parsed.fields == 0 && rule.kind == RuleKind::step) return 0;
  const bool may_go_on = wraps_[index] && parsed.end == text.size();
  if (!parsed.closed || may_go_on) {
    give_up_held();
    held_ = HeldLine{.text = std::string(text.substr(0, kLongestRecord)),
                     .label = std::string(where.label),
                     .stamp = std::string(where.stamp),
                     .rule = index,
                     .line = where.line,
                     .fields = parsed.fields,
                     .whole = whole,
                     .closed = parsed.closed};
    return text.size();
  }
  if (rule.bar_at_end && parsed.end == text.size()) last_record_ = static_cast<int>(index);
  ends_in_bar_[index] = true;
  const bool last_may_be_cut = !whole && !rule.bar_at_end && parsed.end == text.size();
  if (last_may_be_cut && parsed.last != IngestTarget::count_) values_.unset(parsed.last);
  session_.take(rule, values_, where);
  return parsed.end;
}

// True if the text of the next line is the rest, or more, of the record that was cut.
bool Matcher::complete_held(std::string_view text) {
  auto& held = *held_;
  std::size_t blanks = 0, at = 0;
  skip_blanks(text, blanks);
  const bool is_record = blanks >= text.size() || fields_.begins_record(text.substr(blanks)) ||
                         fields_.has_record(held.rule, text);
  const bool may_be_rest = !is_record && text.find('|') != std::string_view::npos &&
                           held.text.size() + text.size() < kLongestRecord;
  auto joined = may_be_rest ? held.text + std::string(text) : std::string();
  values_.clear();
  if (may_be_rest && FieldsReader::head(patterns_.fields[held.rule], joined, at, values_)) {
    const auto parsed = fields_.fields(held.rule, joined, at, values_);
    const bool complete = parsed.closed && parsed.end == joined.size();
    const bool says_more = parsed.fields > held.fields;
    if ((complete && (says_more || !held.closed)) || (!parsed.closed && says_more)) {
      held.fields = parsed.fields;
      held.closed = parsed.closed;
      held.text = std::move(joined);
      if (complete && !wraps_[held.rule]) {
        const auto whole = std::move(*held_);
        held_.reset();
        tell_held(whole);
        last_record_ = static_cast<int>(whole.rule);
      }
      return true;
    }
  }
  if (is_record || ++held.waited > kMostWaits) give_up_held();
  return false;
}

void Matcher::give_up_held() {
  if (!held_) return;
  const auto held = std::move(*held_);
  held_.reset();
  tell_held(held);
}

// Uses the complete fields of a held record. Its last value may be cut if the log ends in it, or if
// other lines of the rule end in a bar and this one does not.
void Matcher::tell_held(const HeldLine& held) {
  const auto& rule = patterns_.fields[held.rule];
  std::size_t at = 0;
  values_.clear();
  if (!FieldsReader::head(rule, held.text, at, values_)) return;
  const auto parsed = fields_.fields(held.rule, held.text, at, values_);
  const bool may_be_cut = !parsed.closed && (ends_in_bar_[held.rule] || !held.whole);
  if (may_be_cut && parsed.last != IngestTarget::count_) values_.unset(parsed.last);
  session_.take(rule, values_, {held.line, held.label, held.stamp, held.text});
}

bool Matcher::arguments(std::string_view text, std::string_view before, const TextPlace& where) {
  if (before.empty() && !text.starts_with("  ")) {
    // In "[…] [INFO] [config.py:1:print]   key .... value" the key is behind the last bracket.
    const auto bracket = text.find("]  ");
    if (!trim(text).starts_with('[') || bracket == std::string_view::npos) return false;
    return arguments(text.substr(bracket + 1), text.substr(0, bracket + 1), where);
  }
  std::string_view key, value;
  if (!split_argument(text, key, value)) return false;
  bool known = false, said = false;
  for (const auto& rule : patterns_.arguments) {
    const bool fits =
        rule.after.empty() ? before.empty() : before.find(rule.after) != std::string_view::npos;
    const auto* meaning = fits ? meaning_of(rule.keys, key) : nullptr;
    if (!meaning) continue;
    known = true;
    values_.clear();
    put(*meaning, value, values_);
    if (values_.empty()) continue;  // the meaning does not apply to this value
    session_.take(rule, values_, where);
    said = true;
    break;
  }
  const bool goes_on = argument_line_ + 1 == where.line;
  if (known || goes_on || text.find(" ..") != text.npos) argument_line_ = where.line;
  if (!said && before.empty() && argument_line_ == where.line) keep_argument(key, value, where);
  return known;
}

// The rule has no framework, so a kept argument does not indicate one.
void Matcher::keep_argument(std::string_view key, std::string_view value, const TextPlace& where) {
  static const Rule kKept = [] {
    Rule rule;
    rule.weight = 0;
    return rule;
  }();
  if (!patterns_.keeps_arguments) return;
  values_.clear();
  argument_ = "argument_" + std::string(key);
  values_.more.emplace_back(argument_, value);
  session_.take(kKept, values_, where);
}

// A record of a step must have the number of the step and another value.
bool Matcher::says_enough(const Rule& rule, const TargetValues& values) {
  if (rule.kind != RuleKind::step) return !values.empty();
  const bool counted = values.has(IngestTarget::step) || values.has(IngestTarget::micro_step);
  return counted && (values.has(IngestTarget::loss) || values.has(IngestTarget::time) ||
                     pace_of(values).work != TimedWork::none);
}

bool Matcher::object(std::string_view text, const TextPlace& where) {
  if (patterns_.records.empty() || !text.ends_with('}') || text.size() > kLongestObject)
    return false;
  if (!record::read_object(text, named_)) return false;
  const auto is_there = [&](const std::string& name) {
    return std::any_of(named_.begin(), named_.end(),
                       [&](const auto& held) { return held.first == name; });
  };
  for (const auto& rule : patterns_.records) {
    if (rule.is_table || !std::ranges::all_of(rule.needs, is_there)) continue;
    if (has_any(text, rule.without)) continue;
    values_.clear();
    for (const auto& [name, value] : named_)
      if (const auto* meaning = meaning_of(rule.keys, name)) put(*meaning, value, values_);
    if (!says_enough(rule, values_)) continue;
    session_.take(rule, values_, where);
    return true;
  }
  return false;
}

bool Matcher::begins_table(std::string_view line) {
  record::split_cells(line, cells_);
  const auto is_there = [&](const std::string& name) {
    return std::find(cells_.begin(), cells_.end(), name) != cells_.end();
  };
  for (const auto& rule : patterns_.records) {
    if (!rule.is_table || !std::all_of(rule.needs.begin(), rule.needs.end(), is_there)) continue;
    columns_.clear();
    for (const auto cell : cells_) columns_.push_back(meaning_of(rule.keys, cell));
    const auto counts = [](const ValueMeaning* meaning) {
      return meaning &&
             (meaning->target == IngestTarget::step || meaning->target == IngestTarget::micro_step);
    };
    if (cells_.size() < 2 || std::none_of(columns_.begin(), columns_.end(), counts)) continue;
    table_ = &rule;
    return true;
  }
  return false;
}

bool Matcher::table_line(const LogLine& line) {
  record::split_cells(line.text, cells_);
  if (cells_.size() != columns_.size()) return false;
  values_.clear();
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (columns_[i] && !cells_[i].empty()) put(*columns_[i], cells_[i], values_);
  // The log may end in the middle of a number.
  if (line.whole && says_enough(*table_, values_))
    session_.take(*table_, values_, {line.number, {}, {}, line.text});
  return true;
}

void Matcher::lines(std::string_view text, const TextPlace& where) {
  constexpr auto kNowhere = std::string_view::npos;
  ++scan_;
  hits_.clear();
  std::size_t record_rule = 0, record_at = kNowhere;
  text = text.substr(0, kLongestForRegex);
  patterns_.literals.scan(text, [&](std::uint32_t id, std::size_t begin) {
    if (id < Patterns::Impl::kFieldsId) {
      if (hit_at_[id] == scan_) return;
      hit_at_[id] = scan_;
      hits_.push_back(id);
    } else if (record_at == kNowhere && begin > 0) {
      // This is the first record in the middle of the line.
      std::size_t at = 0;
      const auto rule = id - Patterns::Impl::kFieldsId;
      if (!FieldsReader::head(patterns_.fields[rule], text.substr(begin), at, values_)) return;
      record_rule = rule;
      record_at = begin;
    }
  });
  std::sort(hits_.begin(), hits_.end());
  said_ = {};
  for (const auto id : hits_) apply(patterns_.lines[id], text, where);
  if (record_at == kNowhere || records_left_-- == 0) return;
  const auto end = try_fields(record_rule, text.substr(record_at), where, true);
  if (end > 0) scan(text.substr(record_at + end), where, true);
}

void Matcher::apply(const LineRule& rule, std::string_view text, const TextPlace& where) {
  const bool outside = section_ != rule.within || where.line > section_line_ + kSectionLines;
  if ((!rule.within.empty() && outside) || has_any(text, rule.without)) return;
  std::size_t from = 0;
  const auto said = said_;  // earlier rules take precedence
  NestingPlace place(nesting_, text);
  // A line may contain several matches.
  while (from <= text.size() && rule.regex.search(text, from)) {
    if (!rule.below.empty()) {
      close_block();
      block_ = Block{
          &rule, std::string(text), std::string(where.label), std::string(where.stamp), where.line,
          {}};
      return;
    }
    const auto begin = rule.regex.match_begin();
    if (!rule.outside.empty() && place.is_in(begin, rule.outside)) {
      from = std::max(rule.regex.match_end(), begin + 1);
      continue;
    }
    values_.clear();
    read_match(rule);
    if (!rule.opens.empty()) {
      section_ = rule.opens;
      section_line_ = where.line;
    }
    values_.remove(said);
    said_[0] |= values_.mask()[0];
    said_[1] |= values_.mask()[1];
    session_.take(rule, values_, where);
    if (rule.groups.empty()) return;
    from = std::max(rule.regex.match_end(), from + 1);
  }
}

}  // namespace orch::ingest

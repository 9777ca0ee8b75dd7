#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/regex.h"
#include "core/record/ingest/ingest.h"
#include "core/record/ingest/targets.h"
#include "core/record/states.h"

namespace orch::ingest {

// What a line is about.
enum class RuleKind : std::uint8_t { facts, step, loss, memory, timers, bar, none };

// A value that a rule sets where it matches: a target of ours, or more_… and version_….
struct RuleSetting {
  IngestTarget target = IngestTarget::count_;
  std::string more;  // the whole name, where it is none of ours
  std::string value;
};

// What a value is for.
struct ValueMeaning {
  IngestTarget target = IngestTarget::count_;  // count_: for `more`, or only for `settings`
  std::string more;
  double scale = 1, over = 1;              // value * scale / over: 0.001 is no number, 1000 is one
  IngestTarget of = IngestTarget::count_;  // the second number of "5/100"
  std::string when;                        // only where the value is this word
  std::vector<RuleSetting> settings;       // and these are set then
};

// What every rule has.
struct Rule {
  std::string framework;
  RuleKind kind = RuleKind::facts;
  int weight = 1;  // a value is not replaced by one of a lighter rule
  bool begins = false, finished = false, stopped = false, cancelled = false;
  bool exits = false;  // a process ended with this failure: no later line takes it back
  record::Failure failure = record::Failure::none;
  int priority = 0;      // of the failure: the highest is the reason
  bool assumed = false;  // what it sets is a habit of the framework: nobody said so
  bool own = false;      // valid only in runs that another line of this framework has named

  bool tells_failure() const { return failure != record::Failure::none || cancelled; }
};

// Names with their meanings.
using RuleKeys = std::map<std::string, ValueMeaning, std::less<>>;

inline const ValueMeaning* meaning_of(const RuleKeys& keys, std::string_view key) {
  const auto found = keys.find(key);
  return found == keys.end() ? nullptr : &found->second;
}

// `iteration {step}/{steps_planned} | key: value | …`
struct FieldsRule : Rule {
  struct Piece {
    std::string literal;  // a blank stands for any number of them, also none
    IngestTarget number = IngestTarget::count_;
  };
  std::vector<Piece> head;
  bool bar_at_end = false;  // each line ends in '|': one that does not was cut
  RuleKeys keys;
};

// `  hidden_size ........ 1024`, or after a mark such as "print]" in the line.
struct ArgumentsRule : Rule {
  std::string after;
  bool keep = false;  // keeps arguments without a rule by their names
  RuleKeys keys;
};

struct LineRule : Rule {
  std::string has;
  Regex regex;
  std::vector<std::pair<std::size_t, ValueMeaning>> groups;  // of the expression, by their index
  std::vector<RuleSetting> settings;
  std::string opens, within;         // a section of a nested dump, for the lines right below
  std::vector<std::string> outside;  // objects of a dump whose contents the rule ignores
  std::vector<std::string> without;  // strings that must not be in the line
  RuleKeys below;  // of lines "key: value" or "key=value" below it, which are indented

  explicit LineRule(Regex made) : regex(std::move(made)) {}
};

// A line that is an object, or one of a table whose first line names its columns.
struct RecordRule : Rule {
  bool is_table = false;
  std::vector<std::string> needs;    // names that must be there
  std::vector<std::string> without;  // strings that must not be in the line
  RuleKeys keys;
};

// Which group of time a timer belongs to.
struct TimerGroups {
  std::map<std::string, std::string, std::less<>> groups;  // timer -> group; "none": left out
  std::map<std::string, std::string, std::less<>> parts;   // timer -> the one it is a part of
};

// Finds many texts in a line in one pass over it: most pairs of bytes begin none of them.
class Literals {
 public:
  // Of two bytes or more; a shorter one is found nowhere. Several may share a string.
  void add(std::string_view text, std::uint32_t id) {
    if (text.size() < 2) return;
    auto& first = first_[pair(text.data())];
    entries_.push_back({std::string(text), id, first});
    first = static_cast<std::uint16_t>(entries_.size());
  }

  // Calls hit(id, begin) for each place of each literal, in the order of the places.
  template <class Function>
  void scan(std::string_view line, Function&& hit) const {
    for (std::size_t begin = 0; begin + 1 < line.size(); ++begin)
      for (auto at = first_[pair(line.data() + begin)]; at != 0; at = entries_[at - 1].next)
        if (const auto& entry = entries_[at - 1]; line.substr(begin).starts_with(entry.text))
          hit(entry.id, begin);
  }

 private:
  struct Entry {
    std::string text;
    std::uint32_t id;
    std::uint16_t next;  // 1 + the place of another that begins with the same pair; 0: none
  };
  static std::size_t pair(const char* at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(at[0])) << 8 |
           static_cast<unsigned char>(at[1]);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint16_t> first_ = std::vector<std::uint16_t>(1 << 16);  // by pair, as next
};

struct Patterns::Impl {
  std::vector<FieldsRule> fields;
  std::vector<ArgumentsRule> arguments;
  std::vector<LineRule> lines;
  std::vector<RecordRule> records;
  TimerGroups timers;
  bool keeps_arguments = false;
  std::array<std::vector<std::uint16_t>, 256> fields_by_byte;  // fields rules by their first byte
  Literals literals;  // ids: of a line rule, or kFieldsId + of a fields rule

  static constexpr std::uint32_t kFieldsId = 1u << 20;
  void build();
};

// Adds the rules of a Lua string; its mistakes go to errors.
void read_patterns(std::string_view text, const std::string& file, Patterns::Impl& out,
                   Errors& errors);

}  // namespace orch::ingest

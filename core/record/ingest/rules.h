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

// A fixed value that a rule sets where it matches: for a target, or for a more_… or version_… name.
struct RuleSetting {
  IngestTarget target = IngestTarget::count_;
  std::string more;  // the full name, if it is not a target
  std::string value;
};

// The meaning of a value in a log: what it sets, and how it is scaled.
struct ValueMeaning {
  IngestTarget target = IngestTarget::count_;  // count_: for `more`, or only for `settings`
  std::string more;
  // The result is value * scale / over. A scale of 0.001 is kept as over = 1000, which is exact.
  double scale = 1, over = 1;
  IngestTarget of = IngestTarget::count_;  // target of the second number of "5/100"
  std::string when;                        // the meaning applies only to this value
  std::vector<RuleSetting> settings;       // are set as well
};

// The part that all rules have in common.
struct Rule {
  std::string framework;
  RuleKind kind = RuleKind::facts;
  int weight = 1;  // a rule of lower weight does not replace its values
  bool begins = false, finished = false, stopped = false, cancelled = false;
  bool exits = false;  // a process ended with this failure; later lines do not revoke it
  record::Failure failure = record::Failure::none;
  int priority = 0;      // of the failure; the highest one is the reason of the run
  bool assumed = false;  // it sets a usual value of the framework that the log does not state
  bool own = false;      // applies only after another line has shown this framework

  bool tells_failure() const { return failure != record::Failure::none || cancelled; }
};

// The meanings of values by key.
using RuleKeys = std::map<std::string, ValueMeaning, std::less<>>;

inline const ValueMeaning* meaning_of(const RuleKeys& keys, std::string_view key) {
  const auto found = keys.find(key);
  return found == keys.end() ? nullptr : &found->second;
}

// `iteration {step}/{steps_planned} | key: value | …`
struct FieldsRule : Rule {
  struct Piece {
    std::string literal;  // a blank matches any number of blanks, including none
    IngestTarget number = IngestTarget::count_;
  };
  std::vector<Piece> head;
  bool bar_at_end = false;  // each line ends in '|'; any other line was cut
  RuleKeys keys;
};

// `  hidden_size ........ 1024`, or after a mark such as "print]" in the line.
struct ArgumentsRule : Rule {
  std::string after;
  bool keep = false;  // arguments without a meaning are kept by name
  RuleKeys keys;
};

struct LineRule : Rule {
  std::string has;
  Regex regex;
  std::vector<std::pair<std::size_t, ValueMeaning>> groups;  // meanings of groups, by group index
  std::vector<RuleSetting> settings;
  std::string opens, within;         // opens a section for the next lines; matches only in one
  std::vector<std::string> outside;  // objects of a dump whose contents the rule ignores
  std::vector<std::string> without;  // strings that must not be in the line
  RuleKeys below;  // keys of the indented lines "key: value" or "key=value" below it

  explicit LineRule(Regex made) : regex(std::move(made)) {}
};

// A line that is an object, or a row of a table whose first line names the columns.
struct RecordRule : Rule {
  bool is_table = false;
  std::vector<std::string> needs;    // keys that must be present
  std::vector<std::string> without;  // strings that must not be in the line
  RuleKeys keys;
};

// The groups that timers are assigned to.
struct TimerGroups {
  std::map<std::string, std::string, std::less<>> groups;  // timer -> group; "none": left out
  std::map<std::string, std::string, std::less<>> parts;   // timer -> the timer that includes it
};

// Finds many strings in a line in one pass over it. It looks up each pair of bytes, and most pairs
// begin none of the strings.
class Literals {
 public:
  // Strings shorter than two bytes are ignored. Several ids may share a string.
  void add(std::string_view text, std::uint32_t id) {
    if (text.size() < 2) return;
    auto& first = first_[pair(text.data())];
    entries_.push_back({std::string(text), id, first});
    first = static_cast<std::uint16_t>(entries_.size());
  }

  // Calls hit(id, begin) for each occurrence of each literal, in order of position.
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
    std::uint16_t next;  // 1 + index of the next entry with the same first pair; 0: none
  };
  static std::size_t pair(const char* at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(at[0])) << 8 |
           static_cast<unsigned char>(at[1]);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint16_t> first_ = std::vector<std::uint16_t>(1 << 16);  // by pair, like next
};

struct Patterns::Impl {
  std::vector<FieldsRule> fields;
  std::vector<ArgumentsRule> arguments;
  std::vector<LineRule> lines;
  std::vector<RecordRule> records;
  TimerGroups timers;
  bool keeps_arguments = false;
  std::array<std::vector<std::uint16_t>, 256> fields_by_byte;  // fields rules by their first byte
  Literals literals;  // ids: index of a line rule, or kFieldsId + index of a fields rule

  static constexpr std::uint32_t kFieldsId = 1u << 20;
  void build();
};

// Adds the rules of a Lua string. Its mistakes are added to `errors`.
void read_patterns(std::string_view text, const std::string& file, Patterns::Impl& out,
                   Errors& errors);

}  // namespace orch::ingest

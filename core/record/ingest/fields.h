#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/record/ingest/rules.h"

namespace orch::ingest {

// Reads records of fields: `iteration 5/ 1000 | key: value | key: value |`.
class FieldsReader {
 public:
  struct Parsed {
    std::size_t end = 0;                       // where the record ends in its text
    bool closed = true;                        // nothing was cut
    int fields = 0;                            // that say something
    IngestTarget last = IngestTarget::count_;  // the value that may be cut
  };

  explicit FieldsReader(const Patterns::Impl& patterns)
      : patterns_(patterns), shapes_(patterns.fields.size()) {}

  // The beginning of a record by a rule at the front of the text; `at` is then behind it.
  static bool head(const FieldsRule& rule, std::string_view text, std::size_t& at,
                   TargetValues& values);
  // Whether a record of any rule begins at the front of the text, which is not empty.
  bool begins_record(std::string_view text);
  // Whether one of this rule begins anywhere in it.
  bool has_record(std::size_t rule, std::string_view text);
  // Whether the text begins as the middle of a record does: "key: number |".
  static bool begins_inside(std::string_view text);
  // The fields behind the beginning. What they say is added to values.
  Parsed fields(std::size_t rule, std::string_view text, std::size_t at, TargetValues& values);
  // "name: milliseconds" of a line of timers, one at a time: false at its end.
  static bool timer(std::string_view text, std::size_t& at, bool whole, TargetValues& values);

 private:
  using Shape = std::vector<std::pair<std::string, const ValueMeaning*>>;  // keys in order
  // Keys mostly come as in the line before: whether the expected one is here.
  static inline bool is_expected(const Shape& keys, std::size_t place, std::string_view text,
                                 std::size_t at);
  // What the key is for that is here instead; `at` moves behind it. False: no field is here.
  static bool other_key(const FieldsRule& rule, Shape& keys, std::size_t place,
                        std::string_view text, std::size_t& at, const ValueMeaning*& meaning);

  // "lm loss 7.4E+00", as Megatron wrote until 2020.
  static bool key_without_colon(const FieldsRule& rule, std::string_view segment, std::size_t& at,
                                const ValueMeaning*& meaning);

  const Patterns::Impl& patterns_;
  std::vector<Shape> shapes_;  // of each rule: of its last line
  TargetValues scratch_;
};

// What a value means is set; nothing where it is not the word that the meaning is for.
void put(const ValueMeaning& meaning, std::string_view value, TargetValues& values);
void put(const std::vector<RuleSetting>& settings, TargetValues& values);

inline void skip_blanks(std::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
}

}  // namespace orch::ingest

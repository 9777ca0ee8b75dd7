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
    std::size_t end = 0;                       // position behind the record
    bool closed = true;                        // false: the record was cut
    int fields = 0;                            // number of fields that were read
    IngestTarget last = IngestTarget::count_;  // the target of the last value, which may be cut
  };

  explicit FieldsReader(const Patterns::Impl& patterns)
      : patterns_(patterns), shapes_(patterns.fields.size()) {}

  // Reads the beginning of a record of this rule at the front of the text and moves `at` behind it.
  // False if there is none.
  static bool head(const FieldsRule& rule, std::string_view text, std::size_t& at,
                   TargetValues& values);
  // True if a record of any rule begins at the front of the text, which must not be empty.
  bool begins_record(std::string_view text);
  // True if a record of this rule begins anywhere in the text.
  bool has_record(std::size_t rule, std::string_view text);
  // True if the text begins like the middle of a record: "key: number |".
  static bool begins_inside(std::string_view text);
  // Reads the fields behind the beginning of a record and adds their values to `values`.
  Parsed fields(std::size_t rule, std::string_view text, std::size_t at, TargetValues& values);
  // Reads the next "name: milliseconds" of a line of timers; false at the end of the line.
  static bool timer(std::string_view text, std::size_t& at, bool whole, TargetValues& values);

 private:
  using Shape = std::vector<std::pair<std::string, const ValueMeaning*>>;  // keys in order
  // True if the key at this place of the last line is here again. Most lines repeat the keys of the
  // line before.
  static inline bool is_expected(const Shape& keys, std::size_t place, std::string_view text,
                                 std::size_t at);
  // Reads a key that is not the expected one: sets its meaning and moves `at` behind it. False if
  // there is no field here.
  static bool other_key(const FieldsRule& rule, Shape& keys, std::size_t place,
                        std::string_view text, std::size_t& at, const ValueMeaning*& meaning);

  // Reads "lm loss 7.4E+00", the format of Megatron until 2020.
  static bool key_without_colon(const FieldsRule& rule, std::string_view segment, std::size_t& at,
                                const ValueMeaning*& meaning);

  const Patterns::Impl& patterns_;
  std::vector<Shape> shapes_;  // by rule: the keys of its last line
  TargetValues scratch_;
};

// Sets the targets of a value. A meaning with `when` applies only to that value.
void put(const ValueMeaning& meaning, std::string_view value, TargetValues& values);
void put(const std::vector<RuleSetting>& settings, TargetValues& values);

inline void skip_blanks(std::string_view text, std::size_t& at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
}

}  // namespace orch::ingest

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/ingest/fields.h"
#include "core/record/ingest/nesting.h"
#include "core/record/ingest/reader.h"
#include "core/record/ingest/rules.h"
#include "core/record/ingest/session.h"
#include "core/record/named_text.h"

namespace orch::ingest {

// Applies the rules to each line and passes the values to the session. A record that was cut by the
// end of its line is held until the next lines show whether they complete it.
class Matcher {
 public:
  Matcher(const Patterns::Impl& patterns, LogSession& session);

  void take(LogLine line);
  void finish();  // handles the end of the log

 private:
  struct HeldLine {
    std::string text, label, stamp;
    std::size_t rule = 0;
    std::uint64_t line = 0;
    int waited = 0, fields = 0;
    bool whole = true, closed = false;
  };

  // A line whose rule also reads the lines below it, with the values of those lines so far.
  struct Block {
    const LineRule* rule = nullptr;
    std::string text, label, stamp;
    std::uint64_t line = 0;
    std::vector<std::pair<const ValueMeaning*, std::string>> said;
  };

  void scan(std::string_view text, const TextPlace& where, bool whole);
  // True if the line belongs to the open block.
  bool extends_block(std::string_view text);
  void close_block();
  // Reads a record of fields at the front of the text. Returns its end, 0 if there is none.
  std::size_t fields_at(std::string_view text, const TextPlace& where, bool whole);
  std::size_t try_fields(std::size_t rule, std::string_view text, const TextPlace& where,
                         bool whole);
  bool complete_held(std::string_view text);
  void give_up_held();
  void tell_held(const HeldLine& held);
  bool arguments(std::string_view text, std::string_view before, const TextPlace& where);
  // Keeps an argument that no rule reads.
  void keep_argument(std::string_view key, std::string_view value, const TextPlace& where);
  void lines(std::string_view text, const TextPlace& where);
  // object() reads a line that is a single object, by any rule. begins_table() reads the first line
  // of a table, table_line() the other ones.
  bool object(std::string_view text, const TextPlace& where);
  bool begins_table(std::string_view line);
  bool table_line(const LogLine& line);
  // True if the values that were read of a record are enough for its rule.
  static bool says_enough(const Rule& rule, const TargetValues& values);
  // Reads the values of the last match of the rule's expression.
  void read_match(const LineRule& rule);
  void apply(const LineRule& rule, std::string_view text, const TextPlace& where);

  const Patterns::Impl& patterns_;
  LogSession& session_;
  FieldsReader fields_;
  TargetValues values_;
  std::optional<HeldLine> held_;
  std::optional<Block> block_;
  std::vector<bool> ends_in_bar_;  // by fields rule: a line ended in a bar
  // By fields rule: its records continue on the next line, even where a line ends in a bar.
  std::vector<bool> wraps_;
  // The rules of the previous line and of this one, if the whole line was a record; otherwise -1.
  int before_ = -1, last_record_ = -1;
  std::vector<std::uint32_t> hits_;
  std::vector<std::uint64_t> hit_at_;  // by line rule: the last scan that found its literal
  std::uint64_t scan_ = 0;
  int records_left_ = 0;             // records that may still be read in the middle of this line
  std::uint64_t argument_line_ = 0;  // the last line of a dump of arguments
  std::string argument_;
  TargetValues::Mask said_{};  // targets that the rules so far have set from this line
  std::vector<record::NamedText> named_;
  std::vector<std::string_view> cells_;
  const RecordRule* table_ = nullptr;         // the rule of the open table, or null
  std::vector<const ValueMeaning*> columns_;  // of the open table
  Nesting nesting_;
  std::string section_;
  std::uint64_t section_line_ = 0;
};

}  // namespace orch::ingest

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

// Finds in each line what the rules know, and tells the session. A record that was cut by the end
// of its line is held until the next lines show whether they complete it.
class Matcher {
 public:
  Matcher(const Patterns::Impl& patterns, LogSession& session);

  void take(LogLine line);
  void finish();  // the log is at its end

 private:
  struct HeldLine {
    std::string text, label, stamp;
    std::size_t rule = 0;
    std::uint64_t line = 0;
    int waited = 0, fields = 0;
    bool whole = true, closed = false;
  };

  // A line of a rule with lines below it, and what those said so far.
  struct Block {
    const LineRule* rule = nullptr;
    std::string text, label, stamp;
    std::uint64_t line = 0;
    std::vector<std::pair<const ValueMeaning*, std::string>> said;
  };

  void scan(std::string_view text, const TextPlace& where, bool whole);
  // Whether the line is one of the open block's.
  bool extends_block(std::string_view text);
  void close_block();
  // A record of fields at the front of the text: where it ends, 0 if there is none.
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
  // A line that is an object, whichever rule is for it; and the first line of a table, and its
  // others.
  bool object(std::string_view text, const TextPlace& where);
  bool begins_table(std::string_view line);
  bool table_line(const LogLine& line);
  // Whether what was read of a record is enough for its rule.
  static bool says_enough(const Rule& rule, const TargetValues& values);
  // What the last match of the rule's expression says.
  void read_match(const LineRule& rule);
  void apply(const LineRule& rule, std::string_view text, const TextPlace& where);

  const Patterns::Impl& patterns_;
  LogSession& session_;
  FieldsReader fields_;
  TargetValues values_;
  std::optional<HeldLine> held_;
  std::optional<Block> block_;
  std::vector<bool> ends_in_bar_;  // of each fields rule: lines have been seen that do
  // Of each fields rule: its lines go on in the next one, even behind a bar.
  std::vector<bool> wraps_;
  // The rule of the line before and of this one, if all of it was a record; -1: it was none.
  int before_ = -1, last_record_ = -1;
  std::vector<std::uint32_t> hits_;
  std::vector<std::uint64_t> hit_at_;  // of each line rule: the last scan that had its literal
  std::uint64_t scan_ = 0;
  int records_left_ = 0;             // of the line
  std::uint64_t argument_line_ = 0;  // the last line of a dump of arguments
  std::string argument_;
  TargetValues::Mask said_{};  // of the line, by its rules so far
  std::vector<record::NamedText> named_;
  std::vector<std::string_view> cells_;
  const RecordRule* table_ = nullptr;         // the log is one
  std::vector<const ValueMeaning*> columns_;  // of it
  Nesting nesting_;
  std::string section_;
  std::uint64_t section_line_ = 0;
};

}  // namespace orch::ingest

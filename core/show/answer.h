#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/plan/value.h"
#include "core/show/chart.h"
#include "core/show/screen.h"

// The answer of a verb: tables, charts and sentences, which this folder prints on a terminal, as
// Markdown, as CSV and as JSON.
namespace orch::show {

using plan::Value;

enum class Mark { none, good, warning, bad };

// A value for programs, and its text for people.
struct Cell {
  Value value = {};  // nothing: unknown
  Value low = {}, high = {};
  std::string text = {};
  // Only on a page:
  std::string small = {};              // behind the text, in small letters
  std::vector<std::string> more = {};  // the text opens to these sentences
  bool is_computed = false;            // by orch: doubts about the source do not apply

  Cell() = default;
  // Value and text are the same string.
  Cell(std::string said) : value(said), text(std::move(said)) {}
  Cell(const char* said) : Cell(std::string(said)) {}
  Cell(std::string_view said) : Cell(std::string(said)) {}
  Cell(bool said) : Cell(Value(said)) {}
  Cell(double number) : Cell(Value(number)) {}
  template <std::integral Whole>
  Cell(Whole number) : Cell(Value(static_cast<std::int64_t>(number))) {}
  Cell(std::optional<double> known) : Cell(known ? Value(*known) : Value()) {}
  Cell(Value known)
      : value(std::move(known)), text(plan::is_given(value) ? plan::plain(value) : "") {}
  Cell(Value known, std::string shown) : value(std::move(known)), text(std::move(shown)) {}
};

struct Column {
  std::string name = {};   // for programs; empty: for people only
  std::string title = {};  // for people; empty: for programs only
  int rank = 0;            // the highest is dropped first on a narrow screen, 0 never
  std::function<Cell(std::size_t row)> cell = {};
  std::string range = {};  // its limits are columns range_low and range_high
  bool shared = false;     // if equal in all rows, it is printed once above the table
  bool gives_way = false;  // may be cut where nothing else can be left out
  // Only on a page:
  std::string under = {};                 // small print below the title
  std::string meaning = {};               // in one sentence
  bool is_number = false;                 // sorted by value, and printed with common decimals
  bool has_choices = false;               // the table can be filtered by its values
  bool is_hidden = false;                 // until the reader chooses it
  std::vector<std::string> doubted = {};  // names by which a doubt may refer to it
};
inline constexpr int kBelow = -1;  // rank of a last column that is printed below its row

struct Table {
  std::string name = {};   // in JSON; empty: for people only
  std::string title = {};  // a heading
  std::vector<Column> columns = {};
  std::size_t rows = 0;
  std::vector<std::string> above = {};                 // lines
  std::optional<std::vector<std::size_t>> first = {};  // rows on a terminal; none: all
  std::string others = {};                             // text about the rows that a terminal omits
  std::string below = {};                              // lines
  std::function<Mark(std::size_t row)> mark = {};
};

// A sentence, or several lines. `kind` is for programs: "answer", "sure", "warnings".
struct Finding {
  std::string kind;
  std::string text;
  Mark mark = Mark::none;
};

struct Findings {
  std::string title = {};
  std::vector<Finding> list = {};
};

// Names and values.
struct Details {
  std::string name = {};   // in JSON
  std::string title = {};  // empty: for programs only
  std::vector<std::pair<std::string, Value>> pairs = {};
};

using Section = std::variant<Table, Chart, Findings, Details>;

struct Answer {
  std::string name = {};   // for programs: of an experiment
  std::string title = {};  // for people
  std::vector<Section> sections = {};
};

// The columns of a table with these rows, owned or borrowed (then they must outlive it).
template <class Row>
class Columns {
 public:
  explicit Columns(std::vector<Row> rows)
      : held_(std::make_shared<RowStore>(RowStore{std::move(rows), {}})) {
    for (const auto& row : held_->own) held_->rows.push_back(&row);
  }
  explicit Columns(std::vector<const Row*> rows)
      : held_(std::make_shared<RowStore>(RowStore{{}, std::move(rows)})) {}

  template <class Read>  // makes a cell's content from a const Row&
  Column& add(std::string name, std::string title, int rank, Read read) {
    return add_read(std::move(name), std::move(title), rank, reader(std::move(read)));
  }
  Column& add(Column column) { return all_.emplace_back(std::move(column)); }
  // A column for programs only.
  template <class Read>
  Column& add(std::string name, Read read) {
    return add_read(std::move(name), "", 0, reader(std::move(read)));
  }
  template <class Read>
  std::function<Cell(std::size_t)> reader(Read read) const {
    if constexpr (std::is_empty_v<Read> && std::default_initializable<Read>) {
      return plain_reader([](const Row& row) { return Cell(Read{}(row)); });
    } else {
      return [held = held_, read = std::move(read)](std::size_t row) {
        return Cell(read(*held->rows[row]));
      };
    }
  }
  Column* find(std::string_view name) {
    const auto found = std::ranges::find(all_, name, &Column::name);
    return found == all_.end() ? nullptr : &*found;
  }
  const std::vector<const Row*>& rows() const { return held_->rows; }
  bool has(std::string_view name) const {
    return std::ranges::find(all_, name, &Column::name) != all_.end();
  }
  Table table(std::string name, std::string title = {}) {
    return {std::move(name), std::move(title), std::move(all_), held_->rows.size()};
  }

 private:
  struct RowStore {
    std::vector<Row> own;
    std::vector<const Row*> rows;
  };

  // One function for all columns of a kind of rows: there are hundreds, and one each takes long to
  // compile.
  Column& add_read(std::string name, std::string title, int rank,
                   std::function<Cell(std::size_t)> cell) {
    return all_.emplace_back(Column{std::move(name), std::move(title), rank, std::move(cell)});
  }
  std::function<Cell(std::size_t)> plain_reader(Cell (*read)(const Row&)) const {
    return [held = held_, read](std::size_t row) { return read(*held->rows[row]); };
  }

  std::shared_ptr<RowStore> held_;
  std::vector<Column> all_;
};

// Prints in pieces: 200,000 runs have 600 MB of JSON.
using Print = std::function<void(const std::string&)>;

// Copies without the parts that only people, or only programs, see.
Table for_programs(Table table);
Table for_people(Table table);
// A table of strings, the first row is the header; for people only.
Table table_of(std::string title, TextRows rows);

// For people: for a terminal or, if the screen asks for it, as Markdown.
std::string text(const Answer& answer, const Screen& screen);
std::string text(const Table& table, const Screen& screen);
// The first table that has a name; without one, the names and values of Details.
void print_csv(const Answer& answer, const Print& print);
// {"schema": 1, "name": …, each table by its name as a list of objects, "findings": […]}
void print_json(const Answer& answer, const Print& print);

// "json", "csv", or any other format for people, as one string.
std::string text_as(std::string_view format, const Answer& answer, const Screen& screen);

}  // namespace orch::show

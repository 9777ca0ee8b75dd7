#include "core/base/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/base/utf8.h"

namespace orch {
namespace {

// A table of measurements has about fifty columns: these limits reject files that are not such
// tables.
constexpr std::size_t kMostColumns = 1000;
constexpr std::size_t kMostRecords = 1'000'000;
constexpr std::size_t kLongestCell = std::size_t{1} << 20;
constexpr std::size_t kMostErrors = 20;

constexpr std::string_view kFormula = "=+-@";  // a formula begins with one; so may a number

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return number_from<double>(text).has_value();
}

std::string inert(const std::string& text) {
  const bool formula = text.size() > 1 && kFormula.find(text[0]) != std::string_view::npos;
  return formula && !is_number(text) ? "'" + text : text;
}

std::string original(std::string cell) {
  const bool inert =
      cell.size() > 2 && cell[0] == '\'' && kFormula.find(cell[1]) != std::string_view::npos;
  return inert ? cell.substr(1) : cell;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

// Reads one record after the other and counts the lines.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  bool at_end() const { return at_ == text_.size(); }
  Errors& errors() { return errors_; }
  void problem(std::size_t line, std::string fact, std::string fix) {
    errors_.push_back({csv_place(file_, line), std::move(fact), std::move(fix)});
  }

  CsvRecord record() {
    CsvRecord record;
    record.line = line_;
    do {
      record.cells.push_back(cell());
    } while (take(','));
    end_of_line();
    return record;
  }

 private:
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void end_of_line() {
    if (at_end()) return;
    const bool carriage = take('\r');
    if (!take('\n') && !carriage) return;
    ++line_;
  }

  std::string cell() {
    auto out = take('"') ? quoted() : plain();
    if (out.size() > kLongestCell) {
      problem(line_, fmt::format("a cell of {} characters", out.size()), "check its quotes");
      out.clear();
    }
    return original(std::move(out));
  }

  std::string plain() {
    const auto end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    const auto cell = text_.substr(at_, end - at_);
    at_ = end;
    if (cell.find('"') != std::string_view::npos)
      problem(line_, "a quote inside a cell that does not begin with one",
              "write the cell in quotes, and quotes in it twice");
    return std::string(cell);
  }

  std::string quoted() {
    const auto begin = line_;
    std::string out;
    while (!at_end()) {
      const char c = text_[at_++];
      if (c == '"' && !take('"')) {
        after_quote();
        return out;
      }
      if (c == '\n' || (c == '\r' && (at_end() || text_[at_] != '\n'))) ++line_;
      out += c;
    }
    problem(begin, "a quote is opened here and never closed", "close it");
    return out;
  }

  void after_quote() {
    const auto end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    if (end == at_) return;
    problem(line_, "text behind a closing quote", "write the whole cell in quotes");
    at_ = end;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  Errors errors_;
};

std::size_t line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + at, '\n'));
}

// printable() leaves valid UTF-8 unchanged; line ends and tabs are the only control characters in a
// CSV file.
Errors check_bytes(std::string_view text, const std::string& file) {
  const auto allowed = [](char c) { return c == '\n' || c == '\r' || c == '\t'; };
  std::size_t start = 0;
  while (start < text.size()) {
    const auto end = static_cast<std::size_t>(
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(), allowed) -
        text.begin());
    const auto part = text.substr(start, end - start);
    if (printable(part) != part)
      return Error{csv_place(file, line_of(text, start)),
                   "is not UTF-8 text, or has control characters",
                   "give a CSV file; iconv -t utf-8 converts another encoding"};
    start = end + 1;
  }
  return {};
}

void check_header(const Csv& csv, const std::string& file, std::size_t line, Errors& errors) {
  if (csv.header.size() > kMostColumns) {
    errors.push_back({csv_place(file, line),
                      fmt::format("{} columns, more than {}", csv.header.size(), kMostColumns),
                      "check that commas separate the cells of a table of runs"});
    return;
  }
  std::set<std::string_view> seen;
  for (const auto& name : csv.header)
    if (!name.empty() && !seen.insert(name).second)
      errors.push_back(
          {csv_place(file, line), "two columns '" + printable(name) + "'", "rename or remove one"});
}

bool is_blank(const CsvRecord& record) {
  return record.cells.size() == 1 && trim(record.cells.front()).empty();
}

void add(CsvRecord record, Csv& csv, CsvReader& reader) {
  if (record.cells.size() != csv.header.size())
    reader.problem(record.line,
                   fmt::format("{} cells under {} columns", record.cells.size(), csv.header.size()),
                   "give every row a cell for each column, empty where nothing is known");
  else
    csv.records.push_back(std::move(record));
}

}  // namespace

int Csv::column(std::string_view name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  return found == header.end() ? -1 : static_cast<int>(found - header.begin());
}

std::string csv_place(const std::string& file, std::size_t line, std::string_view column) {
  return fmt::format("{}:{}{}{}", printable(file), line, column.empty() ? "" : ": ",
                     printable(column));
}

void keep_first(Errors& errors, std::size_t most, const std::string& file) {
  if (errors.size() <= most) return;
  const auto more = errors.size() - most;
  errors.resize(most);
  errors.push_back(
      {printable(file), fmt::format("and {} more problems like this", more), "fix these first"});
}

Result<Csv> parse_csv(std::string_view text, const std::string& file) {
  text = without_mark(text);
  if (auto errors = check_bytes(text, file); !errors.empty()) return errors;
  CsvReader reader(text, file);
  Csv csv;
  while (!reader.at_end()) {
    auto record = reader.record();
    if (is_blank(record)) continue;
    if (csv.header.empty()) {
      for (const auto& name : record.cells) csv.header.emplace_back(trim(name));
      check_header(csv, file, record.line, reader.errors());
      if (!reader.errors().empty()) break;
    } else {
      add(std::move(record), csv, reader);
    }
    if (csv.records.size() > kMostRecords)
      return Error{printable(file), fmt::format("more than {} rows", kMostRecords),
                   "validate it in parts"};
  }
  if (csv.header.empty())
    return Error{printable(file), "is empty", "give a CSV file with a header row"};
  if (reader.errors().empty()) return csv;
  keep_first(reader.errors(), kMostErrors, file);
  return reader.errors();
}

CsvCell::CsvCell(std::optional<double> number, int digits) {
  if (!number || !std::isfinite(*number)) return;
  text_ = digits > 0 ? fmt::format("{:.{}g}", *number, digits) : fmt::format("{}", *number);
}

CsvWriter::CsvWriter(std::string_view names)
    : columns_(1 + static_cast<std::size_t>(std::count(names.begin(), names.end(), ','))),
      text_(names) {
  text_ += '\n';
}

void CsvWriter::row(const std::vector<CsvCell>& cells) {
  if (columns_ == 0) columns_ = cells.size();
  ORCH_CHECK(cells.size() == columns_, "each row has a cell for each column");
  for (std::size_t i = 0; i < cells.size(); ++i)
    text_ += (i > 0 ? "," : "") + quoted(inert(printable(cells[i].text())));
  text_ += '\n';
}

}  // namespace orch

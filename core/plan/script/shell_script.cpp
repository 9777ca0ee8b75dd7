// How it works: one pass over the text. A cursor reads words as bash does (quotes, $NAME, ${NAME},
// "${LIST[@]}", $((1 + 2)), line continuations); assignments take effect as they are read. A line
// that ends while here-documents are open reads their bodies before its commands count. The text of
// bash -c '…' and of eval is read in the same way, by the same variables.
#include "core/plan/script/shell_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/plan/slurm.h"

namespace orch::plan {
namespace {

using ShellLists =
    std::map<std::string, std::vector<std::string>>;  // a plain variable has one item

constexpr int kDeepest = 8;  // bash -c inside bash -c, ${A:-${B:-…}}
// Bytes that are read and filled in, in all: A=$A$A in every line of a script doubles it.
constexpr std::size_t kMostBytes = std::size_t{32} << 20;

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_blank(char c) { return c != '\n' && std::isspace(static_cast<unsigned char>(c)); }

const std::string& first_word(const std::vector<std::string>& words) {
  static const std::string kNone;
  return words.empty() ? kNone : words.front();
}

// Sums, products and parentheses of integers; a name is a variable.
class ShellArithmetic {
 public:
  ShellArithmetic(std::string_view text, const ShellLists& variables)
      : text_(text), variables_(variables) {}

  std::optional<long long> value() {
    const auto result = sum(0);
    skip();
    return at_ == text_.size() ? result : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<long long> sum(int depth) {
    auto left = product(depth);
    while (left) {
      const bool adds = take('+');
      if (!adds && !take('-')) break;
      const auto right = product(depth);
      if (!right) return std::nullopt;
      left = adds ? *left + *right : *left - *right;
    }
    return left;
  }
  std::optional<long long> product(int depth) {
    auto left = item(depth);
    while (left) {
      const char op = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : ' ';
      if (op == ' ') break;
      const auto right = item(depth);
      if (!right || (op != '*' && *right == 0)) return std::nullopt;
      if (op == '*') {
        if (std::abs(*left) > kMost || std::abs(*right) > kMost) return std::nullopt;
        left = *left * *right;
      } else {
        left = op == '/' ? *left / *right : *left % *right;
      }
    }
    return left;
  }
  std::optional<long long> item(int depth) {
    skip();
    if (depth > kDeepest) return std::nullopt;
    if (take('(')) {
      const auto inner = sum(depth + 1);
      return inner && take(')') ? inner : std::nullopt;
    }
    const auto start = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    const auto word = text_.substr(start, at_ - start);
    if (word.empty() || !is_name_start(word.front())) return small(number_from<long long>(word));
    const auto found = variables_.find(std::string(word));
    if (found == variables_.end() || found->second.empty()) return std::nullopt;
    return small(number_from<long long>(found->second.front()));
  }
  static std::optional<long long> small(std::optional<long long> number) {
    return number && std::abs(*number) <= kMost ? number : std::nullopt;
  }

  static constexpr long long kMost = 1'000'000'000;
  std::string_view text_;
  const ShellLists& variables_;
  std::size_t at_ = 0;
};

// A word as it is read: the fields that it becomes.
class WordFields {
 public:
  void add(std::string_view text) {
    fields_.back() += text;
    given_ = given_ || !text.empty();
  }
  void quote() { given_ = true; }  // '' is a word, though an empty one
  void next() {
    fields_.emplace_back();
    given_ = false;
  }
  // Text of a variable outside quotes: blanks separate words.
  void add_split(std::string_view text) {
    for (const char c : text) {
      if (!std::isspace(static_cast<unsigned char>(c)))
        add({&c, 1});
      else if (given_)
        next();
    }
  }
  std::vector<std::string> fields() const {
    auto out = fields_;
    if (!given_) out.pop_back();
    return out;
  }
  std::string joined() const { return join(fields_, " "); }

 private:
  std::vector<std::string> fields_{std::string()};
  bool given_ = false;
};

struct HereDocument {
  std::string end;
  bool expands = true, strips_tabs = false;
};

class ScriptReader {
 public:
  ScriptReader(std::string_view text, ShellLists& variables, ShellScript& out, std::size_t& left,
               int depth, int line)
      : text_(left < text.size() ? "" : text),
        variables_(variables),
        out_(out),
        left_(left),
        depth_(depth),
        line_(line) {
    left_ -= text_.size();
  }

  void read(const ScriptCommand& around) {
    around_ = around;
    while (at_ < text_.size()) step();
    end_line();
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool at(std::string_view text) const { return text_.substr(at_).starts_with(text); }

  // --- lines and commands ---

  void step() {
    const char c = peek();
    if (c == '\n') {
      ++at_;
      end_line();
      ++line_;
    } else if (at("\\\n") || at("\\\r\n")) {
      at_ += at("\\\n") ? 2 : 3;
      ++line_;
    } else if (is_blank(c)) {
      ++at_;
    } else if (c == '#') {
      comment();
    } else if (c == ';' || c == '&' || c == '|' || c == '(' || c == ')') {
      if (at("&>")) return redirect(2);
      ++at_;
      end_command();
    } else if (c == '<' || c == '>') {
      redirect(1);
    } else if (std::isdigit(static_cast<unsigned char>(c)) && (peek(1) == '<' || peek(1) == '>')) {
      redirect(2);
    } else {
      word();
    }
  }

  void comment() {
    const auto end = std::min(text_.find('\n', at_), text_.size());
    const auto line = text_.substr(at_, end - at_);
    const bool is_first = at_ == 0 || text_[at_ - 1] == '\n';
    at_ = end;
    if (!is_first || !line.starts_with("#SBATCH")) return;
    for (const auto& part : split(line.substr(7), ' ')) {
      const auto directive = trim(part);
      if (directive.starts_with('#')) break;  // a comment behind it
      if (!directive.empty()) out_.directives.push_back(fill_in(directive));
    }
  }

  void end_command() {
    drop_keywords();
    if (first_word(command_.words) == "for" && command_.words.size() > 3)
      variables_[command_.words[1]] = {command_.words[3]};
    if (first_word(command_.words) == "tee" && command_.words.size() > 1)
      written_.push_back(command_.words.back());
    if (is_echo() && command_.words.size() > 1) said_ = command_.words.back() + "\n";
    if (!command_.words.empty()) finished(std::move(command_));
    command_ = {};
  }

  void end_line() {
    for (const auto& here : here_) said_ = here_body(here);
    here_.clear();
    end_command();
    for (const auto& file : written_)
      if (said_) out_.files[file] = *said_;
    written_.clear();
    said_.reset();
  }

  bool is_echo() const {
    const auto& program = first_word(command_.words);
    return program == "echo" || program == "printf";
  }

  void drop_keywords() {
    auto& words = command_.words;
    while (!words.empty() && contains({"if", "then", "else", "elif", "do", "while", "until", "!",
                                       "{", "}", "time", "exec", "command", "nohup", "fi", "done"},
                                      words.front()))
      words.erase(words.begin());
  }

  // A command with its environment: or, of bash -c and eval, those in its text.
  void finished(ScriptCommand command) {
    command.environment.insert(around_.environment.begin(), around_.environment.end());
    const auto& words = command.words;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto name = words[i].substr(words[i].rfind('/') + 1);
      const bool is_shell = name == "bash" || name == "sh";
      if (is_shell && i + 2 < words.size() && words[i + 1].starts_with('-') &&
          words[i + 1].ends_with('c'))
        return inside(command, i, words[i + 2]);
      if (i == 0 && name == "eval")
        return inside(command, i, join(std::vector(words.begin() + 1, words.end()), " "));
    }
    auto all = around_.words;
    all.insert(all.end(), words.begin(), words.end());
    command.words = std::move(all);
    out_.commands.push_back(std::move(command));
  }

  void inside(const ScriptCommand& command, std::size_t words, const std::string& text) {
    if (depth_ >= kDeepest) return;
    auto around = around_;
    around.environment.insert(command.environment.begin(), command.environment.end());
    around.words.insert(around.words.end(), command.words.begin(),
                        command.words.begin() + static_cast<std::ptrdiff_t>(words));
    ScriptReader(text, variables_, out_, left_, depth_ + 1, command.line).read(around);
  }

  // --- redirections and here-documents ---

  void redirect(std::size_t length) {
    at_ += length;
    if (text_[at_ - 1] == '<' && at("<<")) return skip_word(2);
    if (text_[at_ - 1] == '<' && at("<")) return here_document();
    while (peek() == '>' || peek() == '|' || peek() == '&') ++at_;
    const bool reads = text_[at_ - 1] == '<', copies = text_[at_ - 1] == '&';
    if (peek() == '(') return;  // <(command)
    while (is_blank(peek())) ++at_;
    const auto target = read_word().joined();
    if (!reads && !copies && !target.empty()) written_.push_back(target);
  }

  void skip_word(std::size_t length) {
    at_ += length;
    while (is_blank(peek())) ++at_;
    (void)read_word();
  }

  void here_document() {
    ++at_;
    HereDocument here;
    if (peek() == '-') here.strips_tabs = true, ++at_;
    while (is_blank(peek())) ++at_;
    const auto start = at_;
    here.end = read_word().joined();
    here.expands =
        text_.substr(start, at_ - start).find_first_of("'\"\\") == std::string_view::npos;
    here_.push_back(here);
  }

  std::string here_body(const HereDocument& here) {
    std::string body;
    while (at_ < text_.size()) {
      const auto end = std::min(text_.find('\n', at_), text_.size());
      auto line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      ++line_;
      if (here.strips_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == here.end) break;
      body += std::string(line) + "\n";
    }
    return here.expands ? fill_in(body) : body;
  }

  // --- words ---

  void word() {
    if (command_.words.empty()) command_.line = line_;
    if (assignment()) return;
    const auto fields = read_word().fields();
    command_.words.insert(command_.words.end(), fields.begin(), fields.end());
  }

  bool may_assign() const {
    return command_.words.empty() || contains({"export", "declare", "local", "readonly", "typeset",
                                               "env", "then", "else", "do"},
                                              command_.words.front());
  }

  // NAME=value, NAME+=value, NAME=( … )
  bool assignment() {
    if (!may_assign() || !is_name_start(peek())) return false;
    std::size_t end = at_;
    while (end < text_.size() && is_name_part(text_[end])) ++end;
    const std::string name(text_.substr(at_, end - at_));
    const bool appends = text_.substr(end).starts_with("+=");
    if (!appends && !text_.substr(end).starts_with("=")) return false;
    at_ = end + (appends ? 2 : 1);
    auto& variable = variables_[name];
    if (peek() == '(') {
      auto items = list();
      if (!appends) variable.clear();
      variable.insert(variable.end(), items.begin(), items.end());
      return true;
    }
    auto value = read_word(/*splits=*/false).joined();
    if (appends && !variable.empty()) value = variable.front() + value;
    variable = {value};
    if (first_word(command_.words) != "export") command_.environment[name] = value;
    return true;
  }

  std::vector<std::string> list() {
    std::vector<std::string> items;
    ++at_;
    while (at_ < text_.size() && peek() != ')') {
      if (peek() == '\n') ++line_;
      if (peek() == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::isspace(static_cast<unsigned char>(peek()))) {
        ++at_;
      } else if (at("\\\n")) {
        at_ += 2;
        ++line_;
      } else {
        const auto before = at_;
        const auto fields = read_word().fields();
        items.insert(items.end(), fields.begin(), fields.end());
        if (at_ == before) ++at_;
      }
    }
    if (at_ < text_.size()) ++at_;
    return items;
  }

  WordFields read_word(bool splits = true) {
    WordFields word;
    while (at_ < text_.size()) {
      const char c = peek();
      if (std::isspace(static_cast<unsigned char>(c)) ||
          std::string_view(";&|()<>").find(c) != std::string_view::npos)
        break;
      ++at_;
      if (c == '\'') {
        const auto end = std::min(text_.find('\'', at_), text_.size());
        line_ +=
            static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                        text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        word.add(text_.substr(at_, end - at_));
        word.quote();
        at_ = std::min(end + 1, text_.size());
      } else if (c == '"') {
        quoted(word);
      } else if (c == '\\') {
        if (at_ >= text_.size()) break;
        if (peek() == '\n')
          ++line_;
        else
          word.add(text_.substr(at_, 1));
        ++at_;
        if (text_[at_ - 1] == '\n' && (peek() == '\0' || is_blank(peek()))) break;
      } else if (c == '$') {
        dollar(word, !splits);
      } else if (c == '`') {
        const auto end = std::min(text_.find('`', at_), text_.size());
        word.add(text_.substr(at_ - 1, std::min(end + 1, text_.size()) - at_ + 1));
        at_ = std::min(end + 1, text_.size());
      } else {
        word.add({&c, 1});
      }
    }
    return word;
  }

  void quoted(WordFields& word) {
    word.quote();
    while (at_ < text_.size() && peek() != '"') {
      const char c = text_[at_++];
      if (c == '\n') ++line_;
      if (c == '\\' && at_ < text_.size() &&
          std::string_view("$`\"\\\n").find(peek()) != std::string_view::npos) {
        if (peek() == '\n')
          ++line_;
        else
          word.add(text_.substr(at_, 1));
        ++at_;
      } else if (c == '$') {
        dollar(word, /*is_quoted=*/true);
      } else {
        word.add({&c, 1});
      }
    }
    if (at_ < text_.size()) ++at_;
  }

  // --- $ ---

  // Behind a dollar.
  void dollar(WordFields& word, bool is_quoted) {
    if (at("((")) return arithmetic(word);
    if (peek() == '(') {
      const auto end = closing('(', ')');
      word.add("$" + std::string(text_.substr(at_, end - at_)));
      at_ = end;
      return;
    }
    if (peek() == '{') return braces(word, is_quoted);
    std::size_t end = at_;
    if (is_name_start(peek()))
      while (end < text_.size() && is_name_part(text_[end])) ++end;
    else if (std::isdigit(static_cast<unsigned char>(peek())) ||
             std::string_view("@*#?!$-").find(peek()) != std::string_view::npos)
      end = std::min(at_ + 1, text_.size());
    const auto name = text_.substr(at_, end - at_);
    at_ = end;
    value_of(std::string(name), fmt::format("${}", name), is_quoted, false, word);
  }

  // The position behind the parenthesis that closes the one here.
  std::size_t closing(char open, char close) const {
    int depth = 0;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      if (text_[i] == open) ++depth;
      if (text_[i] == close && --depth == 0) return i + 1;
    }
    return text_.size();
  }

  void arithmetic(WordFields& word) {
    const auto end = closing('(', ')');
    const auto written = text_.substr(at_, end - at_);
    at_ = end;
    if (written.size() >= 4) {
      auto inner = std::string(written.substr(2, written.size() - 4));
      std::erase(inner, '$');
      std::erase(inner, '{');
      std::erase(inner, '}');
      if (const auto value = ShellArithmetic(inner, variables_).value())
        return word.add(fmt::format("{}", *value));
    }
    word.add("$" + std::string(written));
  }

  // ${NAME}, ${NAME[@]}, ${NAME:-otherwise}, ${NAME:+instead}; others stay as they are written.
  void braces(WordFields& word, bool is_quoted) {
    const auto end = closing('{', '}');
    const auto written = fmt::format("${}", text_.substr(at_, end - at_));
    auto inner = text_.substr(at_ + 1, end - at_ - 1);
    if (inner.ends_with('}')) inner.remove_suffix(1);
    at_ = end;
    std::size_t length = 0;
    while (length < inner.size() && is_name_part(inner[length])) ++length;
    const std::string name(inner.substr(0, length));
    auto rest = inner.substr(length);
    const bool is_list = rest.starts_with("[@]") || rest.starts_with("[*]");
    if (is_list) rest.remove_prefix(3);
    const auto found = variables_.find(name);
    const bool is_set = found != variables_.end() && !join(found->second, "").empty();
    const bool colon = rest.starts_with(':');
    if (colon) rest.remove_prefix(1);
    const char op = rest.empty() ? '\0' : rest.front();
    if (op == '\0' && !colon) return value_of(name, written, is_quoted, is_list, word);
    if (op == '-' || op == '=') {
      if (is_set) return value_of(name, written, is_quoted, is_list, word);
      return add(fill_in(rest.substr(1)), is_quoted, word);
    }
    if (op == '+') return is_set ? add(fill_in(rest.substr(1)), is_quoted, word) : void();
    if (op == '?') return value_of(name, written, is_quoted, is_list, word);
    word.add(written);
  }

  void value_of(const std::string& name, const std::string& written, bool is_quoted, bool is_list,
                WordFields& word) {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return word.add(written);
    const auto& items = found->second;
    if (!is_list) return add(items.empty() ? "" : items.front(), is_quoted, word);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) word.next();
      if (is_quoted) word.quote();
      add(items[i], is_quoted, word);
    }
  }

  void add(const std::string& text, bool is_quoted, WordFields& word) {
    if (left_ < text.size()) return;
    left_ -= text.size();
    is_quoted ? word.add(text) : word.add_split(text);
  }

  // Text with its variables filled in and nothing else changed.
  std::string fill_in(std::string_view text) {
    if (depth_ >= kDeepest) return std::string(text);
    ScriptReader inner(text, variables_, out_, left_, depth_ + 1, line_);
    WordFields word;
    while (inner.at_ < inner.text_.size()) {
      const char c = inner.text_[inner.at_++];
      if (c == '$')
        inner.dollar(word, true);
      else if (c == '\\' && inner.peek() == '$')
        word.add("$"), ++inner.at_;
      else
        word.add({&c, 1});
    }
    return word.joined();
  }

  std::string_view text_;
  ShellLists& variables_;
  ShellScript& out_;
  std::size_t& left_;  // of kMostBytes
  int depth_, line_;
  std::size_t at_ = 0;
  ScriptCommand around_;  // the words before bash -c
  ScriptCommand command_;
  std::vector<HereDocument> here_;
  std::vector<std::string> written_;  // files that the line writes
  std::optional<std::string> said_;   // and what into them
};

}  // namespace

ShellScript read_shell_script(std::string_view text,
                              const std::map<std::string, std::string>& variables) {
  ShellScript out;
  ShellLists lists;
  for (const auto& [name, value] : variables) lists[name] = {value};
  auto left = kMostBytes;
  ScriptReader(text, lists, out, left, 0, 1).read({});
  for (const auto& [name, items] : lists) out.variables[name] = join(items, " ");
  return out;
}

}  // namespace orch::plan

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/plan/lua/sandbox.h"
#include "core/record/ingest/rules.h"
#include "core/record/quantities.h"

namespace orch::ingest {
namespace {

using Names = std::vector<std::string>;

// Limit of attempts per search, far more than a reasonable expression needs for a line of a log.
constexpr std::uint32_t kMostTries = 200'000;

const Names kTopNames{"framework", "fields", "arguments", "lines", "records", "timers"};
const Names kKinds{"facts", "step", "loss", "memory", "timers", "bar", "none"};
const Names kGroups{"compute", "communication", "bubble", "optimizer", "other", "none", "parts"};

// The names that every rule may have, and the names of its kind.
Names rule_names(const Names& more) {
  Names names{"name",      "kind",  "weight",  "begins_run", "finished", "stopped",
              "cancelled", "exits", "failure", "priority",   "assumed",  "own"};
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

Names failure_names() {
  Names names;
  for (int i = 1; i <= static_cast<int>(record::Failure::lost); ++i)
    names.emplace_back(record::name(static_cast<record::Failure>(i)));
  return names;
}

// Stores a scale of 0.001 as the exact division by 1000.
void set_scale(double scale, ValueMeaning& meaning) {
  meaning.scale = scale;
  const double over = std::round(1 / scale);
  if (scale >= 1 || !(over > 1) || std::abs(over * scale - 1) > 1e-12) return;
  meaning.scale = 1;
  meaning.over = over;
}

using lua::type_name;

// A table of a pattern file and its place in the file. Invalid entries are added to the errors.
class CheckedTable {
 public:
  CheckedTable(sol::table table, std::string place, const std::string& file, Errors& errors)
      : table_(std::move(table)), place_(std::move(place)), file_(file), errors_(errors) {}

  const std::string& place() const { return place_; }
  std::string below(const std::string& name) const {
    return place_.empty() ? name : place_ + "." + name;
  }
  void error(const std::string& place, std::string fact, std::string fix) const {
    errors_.push_back(
        {place.empty() ? file_ : file_ + ": " + printable(place), std::move(fact), std::move(fix)});
  }

  // Adds an error with a suggestion for each name that is not allowed, in the order of the names.
  void check_names(const std::vector<std::string>& allowed) const {
    std::set<std::string> names;
    for (const auto& [key, value] : table_) {
      if (key.get_type() == sol::type::string)
        names.insert(key.as<std::string>());
      else
        error(place_, "a value without a name", "write name = value");
    }
    for (const auto& name : names)
      if (!contains(allowed, name)) error(below(name), "no such field", suggestion(name, allowed));
  }

  sol::object get(const std::string& name) const { return table_.raw_get<sol::object>(name); }
  bool has(const std::string& name) const { return get(name).get_type() != sol::type::lua_nil; }

  // These return the entry, or "", false or another default if it is missing. An integer must be
  // from 0 to 1000.
  std::string text(const char* name) const {
    const auto held = get(name);
    if (held.get_type() == sol::type::string) return held.as<std::string>();
    if (has(name)) error(below(name), type_name(held) + " is not a string", "");
    return "";
  }
  bool flag(const char* name) const {
    const auto held = get(name);
    if (held.get_type() == sol::type::boolean) return held.as<bool>();
    if (has(name)) error(below(name), type_name(held) + " is not true or false", "");
    return false;
  }
  int whole(const char* name, int otherwise) const {
    if (!has(name)) return otherwise;
    const auto held = get(name);
    const double value = held.get_type() == sol::type::number ? held.as<double>() : -1;
    if (value >= 0 && value <= 1000 && value == std::floor(value)) return static_cast<int>(value);
    error(below(name), "not an integer from 0 to 1000", "");
    return otherwise;
  }

  // Calls read(key, value) for each entry of a table, in the order of the keys, which must be
  // strings. The error for another value shows the example.
  void each(const char* name, const char* example,
            const std::function<void(const std::string&, const sol::object&)>& read) const {
    const auto held = get(name);
    if (held.get_type() != sol::type::table)
      return error(below(name), type_name(held) + " is not a table",
                   fmt::format("write {}", example));
    std::map<std::string, sol::object> ordered;
    for (const auto& [key, value] : held.as<sol::table>()) {
      if (key.get_type() == sol::type::string && !key.as<std::string>().empty())
        ordered.emplace(key.as<std::string>(), value);
      else
        error(below(name), "a value without a name", fmt::format("write {}", example));
    }
    for (const auto& [key, value] : ordered) read(key, value);
  }

  // Calls read with each table of a list.
  void each_rule(const char* list, const std::function<void(const CheckedTable&)>& read) const {
    if (!has(list)) return;
    const auto held = get(list);
    if (held.get_type() != sol::type::table)
      return error(list, type_name(held) + " is not a list of rules",
                   fmt::format("write {} = {{ {{ … }}, {{ … }} }}", list));
    const auto rules = held.as<sol::table>();
    for (std::size_t i = 1; i <= rules.size(); ++i) {
      const auto rule = rules.raw_get<sol::object>(i);
      auto place = fmt::format("{}[{}]", list, i);
      if (rule.get_type() != sol::type::table) {
        error(place, type_name(rule) + " is not a rule", "write { name = …, … }");
        continue;
      }
      // The place has the name of the rule for searching, and its number in case it has no name.
      const auto name = rule.as<sol::table>().raw_get<sol::object>("name");
      if (name.is<std::string>()) place += fmt::format(" ({})", name.as<std::string>());
      read(CheckedTable(rule.as<sol::table>(), place, file_, errors_));
    }
  }

 private:
  sol::table table_;
  std::string place_;
  const std::string& file_;
  Errors& errors_;
};

class PatternReader {
 public:
  PatternReader(const CheckedTable& top, Patterns::Impl& out) : top_(top), out_(out) {}

  void read() {
    top_.check_names(kTopNames);
    framework_ = top_.text("framework");
    top_.each_rule("fields", [&](const CheckedTable& rule) { read_fields(rule); });
    top_.each_rule("arguments", [&](const CheckedTable& rule) { read_arguments(rule); });
    top_.each_rule("lines", [&](const CheckedTable& rule) { read_line(rule); });
    top_.each_rule("records", [&](const CheckedTable& rule) { read_record(rule); });
    if (top_.has("timers")) read_timers();
  }

 private:
  void error(const std::string& place, std::string fact, std::string fix) {
    ++mistakes_;
    top_.error(place, std::move(fact), std::move(fix));
  }

  void read_rule(const CheckedTable& table, Rule& rule) {
    table.text("name");  // the name is read only to check its type
    rule.framework = framework_;
    rule.weight = table.whole("weight", 1);
    rule.begins = table.flag("begins_run");
    rule.finished = table.flag("finished");
    rule.stopped = table.flag("stopped");
    rule.cancelled = table.flag("cancelled");
    rule.exits = table.flag("exits");
    rule.priority = table.whole("priority", 10);
    rule.assumed = table.flag("assumed");
    rule.own = table.flag("own");
    if (const auto kind = table.text("kind"); !kind.empty()) {
      if (const auto found = enum_of<RuleKind>(kKinds, kind))
        rule.kind = *found;
      else
        error(table.below("kind"), fmt::format("no kind '{}'", printable(kind)),
              suggestion(kind, kKinds));
    }
    if (const auto failure = table.text("failure"); !failure.empty()) {
      if (const auto found = record::parse_failure(failure))
        rule.failure = *found;
      else
        error(table.below("failure"), fmt::format("no failure '{}'", printable(failure)),
              suggestion(failure, failure_names()));
    }
  }

  // Reads where a value is stored: a target, a quantity of records, more_… or version_….
  bool read_target(const std::string& name, const std::string& place, IngestTarget& target,
                   std::string& more) {
    if ((name.starts_with("more_") && name.size() > 5) ||
        (name.starts_with("version_") && name.size() > 8)) {
      more = name;
      return true;
    }
    if (const auto found = parse_target(name)) {
      target = *found;
      return true;
    }
    if (const auto* quantity = record::find_quantity(name); quantity && !quantity->planned) {
      more = "quantity_" + name;
      return true;
    }
    const auto near = nearest(name, target_names());
    error(place, fmt::format("nothing is called '{}'", printable(name)),
          near ? "did you mean '" + *near + "'?"
               : "README.md beside the shipped patterns lists the names; your own are more_NAME");
    return false;
  }

  std::optional<RuleSetting> read_setting(const std::string& name, const sol::object& value,
                                          const std::string& place) {
    RuleSetting setting;
    if (!read_target(name, place, setting.target, setting.more)) return std::nullopt;
    if (value.get_type() == sol::type::string)
      setting.value = value.as<std::string>();
    else if (value.get_type() == sol::type::boolean)
      setting.value = value.as<bool>() ? "True" : "False";
    else if (value.get_type() == sol::type::number)
      setting.value = fmt::format("{}", value.as<double>());
    TargetValues probe;
    const bool ours = setting.target != IngestTarget::count_;
    if (!setting.value.empty() && (!ours || probe.read(setting.target, setting.value)))
      return setting;
    error(place,
          setting.value.empty()
              ? type_name(value) + " is not a value"
              : fmt::format("'{}' is not a value of {}", printable(setting.value), name),
          "give a string, a number, true or false");
    return std::nullopt;
  }

  // Reads "loss", { "step_seconds", scale = 1e-3 } or { when = "True", dtype = "bf16" }.
  std::optional<ValueMeaning> read_meaning(const sol::object& value, const std::string& place) {
    ValueMeaning meaning;
    const auto before = mistakes_;
    if (value.get_type() == sol::type::string) {
      read_target(value.as<std::string>(), place, meaning.target, meaning.more);
    } else if (value.get_type() == sol::type::table) {
      for (const auto& [key, held] : value.as<sol::table>()) read_part(key, held, place, meaning);
    } else {
      error(place, type_name(value) + " does not say what the value is",
            "write \"loss\", or { \"step_seconds\", scale = 1e-3 }");
    }
    if (mistakes_ != before) return std::nullopt;
    return meaning;
  }

  void read_part(const sol::object& key, const sol::object& held, const std::string& place,
                 ValueMeaning& meaning) {
    const bool text = held.get_type() == sol::type::string;
    if (key.get_type() == sol::type::number && text) {
      read_target(held.as<std::string>(), place, meaning.target, meaning.more);
      return;
    }
    const auto name = key.get_type() == sol::type::string ? key.as<std::string>() : "";
    if (name == "scale") {
      read_scale(held, place + ".scale", meaning);
    } else if (name == "of") {
      std::string more;
      if (!text || !read_target(held.as<std::string>(), place + ".of", meaning.of, more))
        return error(place + ".of", "not the name of a second number",
                     "write of = \"steps_planned\"");
    } else if (name == "when") {
      if (!text) return error(place + ".when", type_name(held) + " is not a string", "");
      meaning.when = held.as<std::string>();
    } else if (auto setting = read_setting(name, held, place + "." + name)) {
      meaning.settings.push_back(std::move(*setting));
    }
  }

  void read_scale(const sol::object& held, const std::string& place, ValueMeaning& meaning) {
    const double scale = held.get_type() == sol::type::number ? held.as<double>() : 0;
    if (scale > 0 && std::isfinite(scale)) return set_scale(scale, meaning);
    error(place, "not a number above 0", "");
  }

  void read_keys(const CheckedTable& table, RuleKeys& keys, const char* name = "keys") {
    const auto example = fmt::format("{} = {{ [\"lm loss\"] = \"loss\" }}", name);
    table.each(name, example.c_str(), [&](const std::string& key, const sol::object& value) {
      const auto place = fmt::format("{}.{}['{}']", table.place(), name, key);
      if (auto meaning = read_meaning(value, place)) keys.emplace(key, std::move(*meaning));
    });
  }

  void read_fields(const CheckedTable& table) {
    table.check_names(rule_names({"begins", "keys", "bar_at_end"}));
    FieldsRule rule;
    read_rule(table, rule);
    rule.bar_at_end = table.flag("bar_at_end");
    read_head(table.text("begins"), table.below("begins"), rule);
    if (rule.kind != RuleKind::timers && rule.kind != RuleKind::none) read_keys(table, rule.keys);
    if (!rule.head.empty()) out_.fields.push_back(std::move(rule));
  }

  // Reads the head of a fields rule, such as "iteration {step}/{steps_planned}".
  void read_head(const std::string& text, const std::string& place, FieldsRule& rule) {
    for (std::size_t at = 0; at < text.size();) {
      const auto open = std::min(text.find('{', at), text.size());
      FieldsRule::Piece piece;
      piece.literal = text.substr(at, open - at);
      at = open;
      if (open < text.size()) {
        const auto close = text.find('}', open);
        std::string more;
        if (close == std::string::npos)
          return error(place, "a '{' without its '}'", "write {step}");
        if (!read_target(text.substr(open + 1, close - open - 1), place, piece.number, more))
          return;
        at = close + 1;
      }
      rule.head.push_back(std::move(piece));
    }
    const bool sound = !rule.head.empty() && rule.head.front().literal.size() >= 4 &&
                       rule.head.front().literal.front() != ' ';
    if (sound) return;
    rule.head.clear();
    error(place, "does not begin with at least four characters of text",
          "write begins = \"iteration {step}/{steps_planned}\"");
  }

  void read_arguments(const CheckedTable& table) {
    table.check_names(rule_names({"after", "keep", "keys"}));
    ArgumentsRule rule;
    read_rule(table, rule);
    rule.after = table.text("after");
    rule.keep = table.flag("keep");
    out_.keeps_arguments = out_.keeps_arguments || rule.keep;
    read_keys(table, rule.keys);
    out_.arguments.push_back(std::move(rule));
  }

  void read_line(const CheckedTable& table) {
    table.check_names(rule_names(
        {"has", "match", "scale", "set", "opens", "within", "outside", "without", "below"}));
    const auto has = table.text("has");
    if (has.size() < 3)
      error(table.below("has"), "shorter than three characters",
            "give a string that stands in every line that the rule is for");
    auto regex = Regex::compile(table.has("match") ? table.text("match") : "(?s).*",
                                {.most_tries = kMostTries});
    if (!regex)
      return error(table.below("match"), regex.error().front().fact, "mend the expression");
    LineRule rule(std::move(*regex));
    read_rule(table, rule);
    rule.has = has;
    rule.opens = table.text("opens");
    rule.within = table.text("within");
    read_groups(table, rule);
    if (table.has("without")) read_names(table, "without", rule.without);
    if (table.has("outside")) read_names(table, "outside", rule.outside);
    if (table.has("below")) read_keys(table, rule.below, "below");
    if (table.has("set"))
      table.each("set", "set = { dtype = \"bf16\" }",
                 [&](const std::string& name, const sol::object& value) {
                   if (auto setting = read_setting(name, value, table.below("set." + name)))
                     rule.settings.push_back(std::move(*setting));
                 });
    out_.lines.push_back(std::move(rule));
  }

  void read_record(const CheckedTable& table) {
    table.check_names(rule_names({"form", "needs", "without", "keys"}));
    RecordRule rule;
    read_rule(table, rule);
    const auto form = table.text("form");
    if (form != "json" && form != "csv")
      error(table.below("form"), fmt::format("no form '{}'", printable(form)), "one of: json, csv");
    rule.is_table = form == "csv";
    if (table.has("needs")) read_names(table, "needs", rule.needs);
    if (table.has("without")) read_names(table, "without", rule.without);
    read_keys(table, rule.keys);
    out_.records.push_back(std::move(rule));
  }

  void read_names(const CheckedTable& table, const char* name, Names& out) {
    const auto value = table.get(name);
    const auto place = table.below(name);
    const auto example = fmt::format("write {} = {{ \"step\", \"loss\" }}", name);
    if (value.get_type() != sol::type::table)
      return error(place, type_name(value) + " is not a list", example);
    for (const auto& [key, held] : value.as<sol::table>()) {
      if (held.get_type() != sol::type::string)
        return error(place, type_name(held) + " is not a name", example);
      out.push_back(held.as<std::string>());
    }
  }

  void read_groups(const CheckedTable& table, LineRule& rule) {
    for (const auto& [name, index] : rule.regex.groups()) {
      ValueMeaning meaning;
      if (read_target(name, table.below("match"), meaning.target, meaning.more))
        rule.groups.emplace_back(index, std::move(meaning));
    }
    if (!table.has("scale")) return;
    table.each("scale", "scale = { params = 1e9 }",
               [&](const std::string& name, const sol::object& value) {
                 bool found = false;
                 for (auto& [index, meaning] : rule.groups) {
                   if (meaning.target == IngestTarget::count_ ||
                       name != orch::ingest::name(meaning.target))
                     continue;
                   read_scale(value, table.below("scale." + name), meaning);
                   found = true;
                 }
                 if (!found)
                   error(table.below("scale." + name), "the expression has no group of this name",
                         fmt::format("write (?<{}>…) in match", printable(name)));
               });
  }

  void read_timers() {
    top_.each("timers", "timers = { compute = { \"forward\" } }",
              [&](const std::string& group, const sol::object& list) {
                if (std::find(kGroups.begin(), kGroups.end(), group) == kGroups.end())
                  error("timers." + group, "no such group", suggestion(group, kGroups));
                else if (list.get_type() != sol::type::table)
                  error("timers." + group, type_name(list) + " is not a table", "");
                else
                  read_timer_group(group, list.as<sol::table>());
              });
  }

  // emplace() keeps the entry of an earlier file, which takes precedence.
  void read_timer_group(const std::string& group, const sol::table& list) {
    for (const auto& [key, value] : list) {
      const bool text = value.get_type() == sol::type::string;
      if (text && group != "parts")
        out_.timers.groups.emplace(value.as<std::string>(), group);
      else if (text && key.get_type() == sol::type::string)
        out_.timers.parts.emplace(key.as<std::string>(), value.as<std::string>());
      else
        error("timers." + group, "not the name of a timer",
              group == "parts" ? "write parts = { [\"backward-allreduce\"] = \"backward\" }" : "");
    }
  }

  const CheckedTable& top_;
  Patterns::Impl& out_;
  std::string framework_;
  int mistakes_ = 0;
};

}  // namespace

void read_patterns(std::string_view text, const std::string& file, Patterns::Impl& out,
                   Errors& errors) {
  lua::Sandbox sandbox;
  const auto result = sandbox.run(text, file);
  if (!errors.add(result)) return;
  if (result->get_type() != sol::type::table) {
    errors.push_back({file, "returns " + type_name(*result) + ", not a table",
                      "end the file with return { … }"});
    return;
  }
  const CheckedTable top(result->as<sol::table>(), "", file, errors);
  PatternReader(top, out).read();
}

}  // namespace orch::ingest

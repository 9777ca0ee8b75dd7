#include "core/plan/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/text.h"

namespace orch::plan {
namespace {

constexpr std::size_t kLongestWord = 256;
constexpr std::int64_t kUsualSignalSeconds = 600;
constexpr std::int64_t kMostSignalSeconds = 65535;  // SLURM stores it in 16 bits

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// sbatch splits an #SBATCH line into arguments as a shell does, with quotes, backslashes and
// comments, but expands nothing. So a blank, a quote, a backslash, '#' or a newline would change
// the meaning of the line. '$', '`', ';', '<', '>' and '!' are harmless there, but people copy the
// same arguments to srun and salloc command lines, and no name needs them.
constexpr std::string_view kPlain = "_-.:,@+/";

// Punctuation a field needs beyond kPlain. A constraint is an expression: a100&nvme, [rack1|rack2],
// (a|b)&c, gpu*4. An option is --name=value, and values name hosts (node[1-4]) and patterns (%j).
std::string_view extra_characters(std::string_view field) {
  if (field == "constraint") return "&|*[]()=";
  if (field == "gres") return "=()";
  if (field == "options") return "=%[]";
  return "";
}

std::string shown(char c) {
  return c == ' ' ? "a blank" : fmt::format("'{}'", printable(std::string_view(&c, 1)));
}

// Non-ASCII text is refused byte by byte; half a UTF-8 character must not be printed.
std::string bad_character(std::string_view value, std::string_view extra) {
  for (const char c : value) {
    if (static_cast<unsigned char>(c) >= 0x80) return "a character that is not ASCII";
    if (!is_letter(c) && !is_digit(c) && kPlain.find(c) == std::string_view::npos &&
        extra.find(c) == std::string_view::npos)
      return shown(c);
  }
  return "";
}

bool is_option_name(std::string_view name) {
  return name.size() > 2 && name.starts_with("--") && is_letter(name[2]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
}

// Options that have their own field, and options that the job script sets: given again they would
// silently override, or be overridden by, what orch writes.
constexpr std::array<std::string_view, 10> kOptionsOfFields{
    "partition",   "account", "qos",  "constraint", "hint",
    "reservation", "gres",    "time", "signal",     "cpus-per-task"};
constexpr std::array<std::string_view, 14> kOurs{
    "nodes", "ntasks", "ntasks-per-node", "job-name", "output", "error", "open-mode",
    "array", "chdir",  "dependency",      "requeue",  "export", "wrap",  "comment"};

constexpr std::array<std::string_view, 7> kShellsOwn{
    "UID", "EUID", "PPID", "SHELLOPTS", "IFS", "MASTER_ADDR", "MASTER_PORT"};
// Variables of the job script that users may set (templates/slurm/README.md); it sets the other
// ORCH_* itself.
constexpr std::array<std::string_view, 4> kSettings{"ORCH_NODE_CHECK", "ORCH_MAX_RESTARTS",
                                                    "ORCH_POLL_SECONDS", "ORCH_TRAINER"};

Status check_option(std::string_view value, const std::string& place) {
  const auto name = value.substr(0, value.find('='));
  if (!is_option_name(name))
    return Error{place, fmt::format("'{}' is not an option of sbatch", printable(value)),
                 "write it as --name or --name=value"};
  const auto bare = name.substr(2);
  if (contains(kOptionsOfFields, bare)) {
    const auto field = bare == "signal"          ? "signal_seconds"
                       : bare == "cpus-per-task" ? "cpus_per_gpu"
                                                 : bare;
    return Error{place, fmt::format("{} has its own field", name),
                 fmt::format("remove it here and set '{}'", field)};
  }
  if (contains(kOurs, bare))
    return Error{place, fmt::format("{} is set by orch", name), "leave it out"};
  return {};
}

Status check_time(std::string_view value, const std::string& place) {
  if (parse_slurm_time(value)) return {};
  return Error{place, fmt::format("'{}' is not a time limit", printable(value)),
               "write D-HH:MM:SS, HH:MM:SS, MM:SS or minutes, more than zero"};
}

std::string allowed(std::string_view extra) {
  std::string text = "use letters, digits and";
  for (const char c : kPlain) text += fmt::format(" {}", c);
  for (const char c : extra) text += fmt::format(" {}", c);
  return text;
}

std::optional<std::int64_t> small_number(std::string_view text) {
  if (text.empty() || text.size() > 6 || !std::all_of(text.begin(), text.end(), is_digit))
    return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The seconds that each of the numbers between colons stands for.
std::vector<std::int64_t> weights(bool days, std::size_t count) {
  if (days) return {3600, 60, 1};
  if (count == 1) return {60};
  if (count == 2) return {60, 1};
  return {3600, 60, 1};
}

}  // namespace

std::optional<double> parse_slurm_time(std::string_view text) {
  std::int64_t seconds = 0;
  const auto dash = text.find('-');
  const bool days = dash != std::string_view::npos;
  if (days) {
    const auto number = small_number(text.substr(0, dash));
    if (!number) return std::nullopt;
    seconds = *number * 86400;
    text.remove_prefix(dash + 1);
  }
  const auto parts = split(text, ':');
  if (parts.size() > 3) return std::nullopt;
  const auto weight = weights(days, parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = small_number(parts[i]);
    const bool first = i == 0 && !days;
    const std::int64_t limit = weight[i] == 3600 ? 24 : 60;
    if (!number || (!first && *number >= limit)) return std::nullopt;
    seconds += *number * weight[i];
  }
  if (seconds == 0) return std::nullopt;
  return static_cast<double>(seconds);
}

std::int64_t signal_seconds(const SlurmSettings& job, double step_seconds) {
  const bool given = job.signal_seconds > 0;
  const auto steps = static_cast<std::int64_t>(std::ceil(std::min(2 * step_seconds, 1e6)));
  const auto seconds = (given ? job.signal_seconds : kUsualSignalSeconds) + steps;
  const auto limit = parse_slurm_time(job.time);
  if (!limit) return std::min(seconds, kMostSignalSeconds);
  // If a cluster's 600 s met an experiment's limit of ten minutes, the job would be told to stop at
  // its start, and again after each requeue.
  const auto most = static_cast<std::int64_t>(*limit / (given ? 2 : 5));
  return std::clamp<std::int64_t>(std::min(seconds, most), 1, kMostSignalSeconds);
}

Status check_sbatch_word(std::string_view field, std::string_view value, const std::string& place) {
  const bool option = field == "options";
  if (value.empty() && !option) return {};
  if (value.size() > kLongestWord)
    return Error{place, fmt::format("{} characters are too long for an #SBATCH line", value.size()),
                 fmt::format("use at most {}", kLongestWord)};
  const auto extra = extra_characters(field);
  if (const auto bad = bad_character(value, extra); !bad.empty())
    return Error{
        place,
        fmt::format("'{}' holds {}, which an #SBATCH line cannot carry", printable(value), bad),
        allowed(extra)};
  if (option) return check_option(value, place);
  if (value[0] == '-')
    return Error{place,
                 fmt::format("'{}' starts with a dash, so sbatch would read an option", value),
                 fmt::format("give the {} alone", field)};
  return field == "time" ? check_time(value, place) : Status{};
}

bool is_environment_name(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '_';
  });
}

Status check_environment_name(std::string_view text, const std::string& place) {
  if (!is_environment_name(text))
    return Error{place, fmt::format("'{}' cannot name a variable", printable(text)),
                 "use letters, digits and '_', and start with a letter or '_'"};
  // The script's own variables are lower-case; the only lower-case ones of the environment are
  // http_proxy and the like.
  if (text[0] >= 'a' && text[0] <= 'z' && !text.ends_with("_proxy"))
    return Error{place, fmt::format("'{}' may be a variable of the job script itself", text),
                 "use capitals; only names that end in _proxy may do without"};
  if (contains(kShellsOwn, text) || text.starts_with("BASH") || text.starts_with("SLURM_") ||
      (text.starts_with("ORCH_") && !contains(kSettings, text)))
    return Error{place, fmt::format("'{}' is reserved: the shell, SLURM or orch sets it", text),
                 "leave it out"};
  return {};
}

bool is_secret_name(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kEnds{
      "token", "secret", "password", "passwd", "passphrase", "credentials", "apikey"};
  auto word = lower(name);
  std::replace(word.begin(), word.end(), '-', '_');
  const auto ends = [&](std::string_view end) { return word.ends_with(end); };
  return std::any_of(kEnds.begin(), kEnds.end(), ends) || word.substr(word.rfind('_') + 1) == "key";
}

bool holds_password(std::string_view value) {
  const auto scheme = value.find("://");
  if (scheme == std::string_view::npos) return false;
  const auto host = value.substr(scheme + 3, value.find('/', scheme + 3) - scheme - 3);
  const auto at = host.find('@');
  return at != std::string_view::npos && host.substr(0, at).find(':') != std::string_view::npos;
}

namespace {

// The variable names in a value that is expanded: there, names are in braces and any other dollar
// is escaped.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  const auto word = shell_expand(text).value_or("");
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (word[at] == '\\') {
      ++at;
    } else if (word[at] == '$') {
      const auto end = word.find('}', at);
      names.push_back(word.substr(at + 2, end - at - 2));
      at = end;
    }
  }
  return names;
}

}  // namespace

// True for values such as "/opt/lib:$LD_LIBRARY_PATH": the variable may have been unset before.
static bool is_longer(const std::string& name, const std::string& value) {
  return value != "$" + name && value != "${" + name + "}";
}

std::map<std::string, std::string> needed_variables(const SlurmSettings& job) {
  std::map<std::string, std::string> needed;
  // Variables are expanded in the order of their names: one that comes later is not set yet.
  const auto is_there = [&](const std::string& variable, const std::string& name) {
    return job.environment.contains(variable) &&
           (!job.expanded.contains(variable) || variable < name);
  };
  for (const auto& name : job.expanded)
    if (const auto held = job.environment.find(name); held != job.environment.end())
      for (const auto& variable : names_in(held->second))
        if (variable == name ? !is_longer(name, held->second) : !is_there(variable, name))
          needed.emplace(variable, name);
  return needed;
}

std::string expansion(const std::string& name, const std::string& value) {
  auto word = shell_expand(value).value_or(shell_quote(value));
  const auto own = "${" + name + "}";
  for (auto at = word.find(own); is_longer(name, value) && at != std::string::npos;
       at = word.find(own, at + 1))
    word.insert(at + own.size() - 1, 1, '-');
  return word;
}

Error unset_variable(const std::string& variable, const std::string& name, std::string_view where) {
  return {"environment." + name,
          fmt::format("{} is not set {}, and {} needs it", variable, where, name),
          fmt::format("export {} before orch run, or set it in setup", variable)};
}

Status check_environment_value(std::string_view name, std::string_view value, bool expands,
                               const std::string& place) {
  if (value.find('\0') != std::string_view::npos)
    return Error{place, "has a NUL byte", "remove it"};
  if (expands && !shell_expand(value))
    return Error{place, fmt::format("'{}' has a '$' without a name", printable(value)),
                 "write $NAME or ${NAME}; $$ is a dollar"};
  // A path points to the file with the secret and is not secret itself.
  const bool secret = is_secret_name(name) && !value.empty() && !value.starts_with('/');
  const bool filled_in = expands && value.find('$') != std::string_view::npos;
  if (filled_in || (!secret && !holds_password(value))) return {};
  return Error{
      place, "looks like a secret, and would be stored in every run folder",
      fmt::format("export it where orch is called, and write {} = expand \"${}\"", name, name)};
}

}  // namespace orch::plan

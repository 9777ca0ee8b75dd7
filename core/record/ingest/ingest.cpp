#include "core/record/ingest/ingest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "core/base/descriptor.h"
#include "core/base/text.h"
#include "core/record/ingest/conclude.h"
#include "core/record/ingest/matcher.h"
#include "core/record/ingest/number.h"
#include "core/record/ingest/reader.h"
#include "core/record/ingest/unpack.h"

namespace orch::ingest {
namespace {

using record::Record, record::RunState;

// Extensions of files that are often in the folder of a log but are not logs.
constexpr std::array kOthers{".json",        ".jsonl", ".yaml", ".yml",  ".py",  ".lua",  ".sh",
                             ".sbatch",      ".csv",   ".npy",  ".npz",  ".pt",  ".pth",  ".bin",
                             ".safetensors", ".idx",   ".png",  ".jpg",  ".pdf", ".html", ".db",
                             ".sqlite",      ".md",    ".toml", ".lock", ".so",  ".o"};

struct LogFile {
  std::string path;
  std::string id;
  bool named = true;        // by the user; false: found in a folder
  std::string output = "";  // if this is a file of errors: the output file of its job
};

struct LogFiles {
  std::vector<LogFile> files;
  std::vector<SkippedText> passed;
};

std::string words_of(const Error& error) {
  return error.fact + (error.fix.empty() ? "" : "; " + error.fix);
}

bool lies_beside(const fs::path& path) {
  const auto extension = path.extension().string();
  return std::find(kOthers.begin(), kOthers.end(), extension) != kOthers.end() ||
         path.filename().string().starts_with("events.out.tfevents");
}

std::string passed_words(const std::map<std::string, int>& endings) {
  std::vector<std::string> parts;
  int count = 0;
  for (const auto& [ending, files] : endings) {
    parts.push_back(fmt::format("{} {}", files, printable(ending)));
    count += files;
  }
  return fmt::format("{} not read because of {} ({}); name one to read it",
                     count == 1 ? "1 file" : fmt::format("{} files", count),
                     count == 1 ? "its ending" : "their endings", join(parts, ", "));
}

void list_folder(const fs::path& folder, LogFiles& out, Errors& errors) {
  std::error_code code;
  auto entry =
      fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, code);
  if (code) {
    errors.push_back(file_error(folder, "cannot open", code.value()));
    return;
  }
  std::vector<std::string> found;
  std::map<std::string, int> endings;
  for (; entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    if (code) break;
    const auto& path = entry->path();
    std::error_code ignored;
    if (path.filename().string().starts_with('.')) {
      if (entry->is_directory(ignored)) entry.disable_recursion_pending();
    } else if (entry->is_directory(ignored)) {
      if (::faccessat(AT_FDCWD, path.c_str(), R_OK | X_OK, AT_EACCESS) != 0)
        out.passed.push_back({path.string(), words_of(file_error(path, "cannot open", errno))});
    } else if (entry->is_regular_file(ignored) && lies_beside(path)) {
      ++endings[path.extension().string()];
    } else if (entry->is_regular_file(ignored)) {
      found.push_back(path.string());
    }
  }
  std::sort(found.begin(), found.end());
  for (auto& path : found) out.files.push_back({std::move(path), "", false});
  if (!endings.empty()) out.passed.push_back({folder.string(), passed_words(endings)});
}

Result<LogFiles> list_files(const std::vector<std::string>& paths) {
  LogFiles out;
  auto& files = out.files;
  Errors errors;
  for (const auto& path : paths) {
    std::error_code code;
    if (path == "-")
      files.push_back({path, "stdin"});
    else if (fs::is_directory(path, code))
      list_folder(path, out, errors);
    else if (fs::exists(path, code))
      files.push_back({path, ""});
    else
      errors.push_back({printable(path), "no such file or folder", "check the path"});
  }
  if (!errors.empty()) return errors;
  // The id of a file is its name, or its path if another file has the same name.
  std::map<std::string, int> names;
  for (const auto& file : files) ++names[fs::path(file.path).filename().string()];
  for (auto& file : files) {
    if (!file.id.empty()) continue;
    const auto name = fs::path(file.path).filename().string();
    file.id = printable(names[name] == 1 ? name : file.path);
  }
  return out;
}

// The size of an open file; nothing if it is not a regular file.
std::optional<std::uint64_t> size_of(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

// The text of a log: the file itself, or the output of a program that unpacks it.
struct LogSource {
  Descriptor opened{-1};
  std::optional<Unpacker> unpacker;
  Packing packing;
  std::optional<std::uint64_t> size;  // nothing if it is not a regular file or is unpacked

  int file() const {
    if (unpacker) return unpacker->output();
    return opened.get() < 0 ? STDIN_FILENO : opened.get();
  }
};

Result<LogSource> open_source(const LogFile& log) {
  LogSource out;
  if (log.path == "-") {
    out.size = size_of(STDIN_FILENO);
    return out;
  }
  out.opened = Descriptor(::open(log.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (out.opened.get() < 0) return file_error(log.path, "cannot open", errno);
  out.size = size_of(out.opened.get());
  if (!out.size) return out;
  ::posix_fadvise(out.opened.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  out.packing = packing_of(out.opened.get());
  if (out.packing.program.empty()) return out;
  out.unpacker.emplace(out.packing, log.path);
  out.size.reset();
  return out;
}

std::string nothing_words(const ReadResult& read, const LogSession& session) {
  if (read.bytes == 0) return "empty";
  const std::vector<std::string> known(session.unread().begin(), session.unread().end());
  if (known.empty()) return "no line of a known framework";
  return fmt::format("lines of {}, but no step that a pattern reads", and_list(known));
}

// Reads one log. Returns the reason if it has no runs, otherwise "".
Result<std::string> read_log(const LogFile& log, const Patterns& patterns,
                             const IngestOptions& asked, Ingested& out) {
  auto source = open_source(log);
  if (!source) return source.error();
  ReadOptions options;
  options.interrupted = asked.interrupted;
  if (asked.progress)
    options.progress = [&](std::uint64_t bytes) {
      asked.progress({log.path, bytes, source->size.value_or(0)});
    };
  const auto shown = log.path == "-" ? std::string("stdin") : log.path;
  const auto given = LoggedSettings::of(asked.set, LoggedSettings::kGiven);
  const auto beside = LoggedSettings::of(asked.beside ? asked.beside(log.path) : KnownFacts(), 0);
  std::size_t count = 0;
  LogSession session(
      [&](LoggedRun& run) {
        ++count;
        run.settings.merge(given);
        run.settings.fill(beside);
        const auto id = count == 1 ? log.id : fmt::format("{}#{}", log.id, count);
        out.runs.push_back(conclude(run, patterns.impl().timers, shown, id));
        auto& state = out.runs.back().state;
        // At the end of a pipe, the run cannot continue.
        if (!source->size && state == RunState::running) state = RunState::stopped;
      },
      !log.output.empty());
  Matcher matcher(patterns.impl(), session);
  const auto read =
      read_lines(source->file(), shown, options, [&](const LogLine& line) { matcher.take(line); });
  if (!read) return read.error();
  out.bytes += read->bytes;
  if (read->interrupted) return Error{printable(shown), "interrupted", ""};
  if (!read->not_text.empty()) return read->not_text;
  matcher.finish();
  session.finish();
  if (const auto status = source->unpacker ? source->unpacker->finish() : Status(); !status) {
    auto error = status.error().front();
    error.place = log.path;
    error.fact = fmt::format("compressed ({}): {}", source->packing.program, error.fact);
    if (!error.fix.empty()) return error;
    return error.fact +
           (count > 0 ? ", what could be unpacked was read" : ", nothing could be read");
  }
  if (session.left_out() > 0)
    return fmt::format("{} more runs in it are left out: more than a log has", session.left_out());
  return count > 0 ? std::string() : nothing_words(*read, session);
}

// Possible output files of a job by the name of its file of errors: job-7.out (or .log, .txt) for
// job-7.err, job.o7 for job.e7. Empty for other names. The files need not exist.
std::vector<std::string> outputs_beside(const fs::path& errors) {
  const auto extension = errors.extension().string();
  const auto named = [&](const std::string& other) {
    return fs::path(errors).replace_extension(other).string();
  };
  if (extension == ".err") return {named(".out"), named(".log"), named(".txt")};
  const bool numbered = extension.starts_with(".e") && extension.size() > 2 &&
                        std::all_of(extension.begin() + 2, extension.end(), is_digit);
  if (numbered) return {named(".o" + extension.substr(2))};
  return {};
}

// Finds the output file of each file of errors, and moves files of errors that have one to the end.
void pair(std::vector<LogFile>& files) {
  std::set<std::string> paths;
  for (const auto& file : files) paths.insert(file.path);
  for (auto& file : files)
    for (const auto& output : outputs_beside(file.path))
      if (file.output.empty() && paths.contains(output)) file.output = output;
  std::stable_partition(files.begin(), files.end(),
                        [](const LogFile& file) { return file.output.empty(); });
}

bool are_equal(const std::string& a, const std::string& b) {
  std::ifstream one(a, std::ios::binary), two(b, std::ios::binary);
  using Bytes = std::istreambuf_iterator<char>;
  return one && two && std::equal(Bytes(one), Bytes(), Bytes(two), Bytes());
}

// For each file, the index of the first file with the same bytes, which may be its own. Only files
// of equal size are read.
std::vector<std::size_t> copies_of(const std::vector<std::string>& files) {
  std::vector<std::size_t> first;
  std::map<std::uintmax_t, std::vector<std::size_t>> sizes;
  for (std::size_t i = 0; i < files.size(); ++i) {
    first.push_back(i);
    std::error_code code;
    const auto size = fs::is_regular_file(files[i], code) ? fs::file_size(files[i], code) : 0;
    if (code || size == 0) continue;
    auto& alike = sizes[size];
    const auto same = std::find_if(alike.begin(), alike.end(), [&](std::size_t other) {
      return are_equal(files[other], files[i]);
    });
    if (same != alike.end())
      first[i] = *same;
    else
      alike.push_back(i);
  }
  return first;
}

// Removes copies of logs, because they are not separate runs. Two jobs may fail with the same error
// messages, so a file of errors is removed only together with its output file.
void drop_copies(LogFiles& files) {
  std::vector<std::string> paths;
  for (const auto& file : files.files) paths.push_back(file.path);
  const auto first = copies_of(paths);
  std::set<std::string> dropped;
  std::vector<LogFile> kept;
  for (std::size_t i = 0; i < first.size(); ++i) {
    auto& file = files.files[i];
    if (first[i] == i || (!file.output.empty() && !dropped.contains(file.output))) {
      kept.push_back(std::move(file));
      continue;
    }
    dropped.insert(paths[i]);
    files.passed.push_back({paths[i], "the same as " + printable(paths[first[i]])});
  }
  files.files = std::move(kept);
}

// True if a log contains only the end of a run.
bool only_ended(const Record& found) {
  const bool ended = found.state == RunState::failed || found.state == RunState::cancelled;
  return ended && found.measured.steps == 0 && !found.has_measurement() &&
         !found.field("global_batch") && !found.field("layers");
}

// Takes the end of a job from its file of errors, if the output file has no end of the run and only
// one start: of several starts it is unknown which one failed. A traceback alone may be a printed
// warning and is ignored. If the run has already ended, the error becomes a note.
void take_end(const Record& errors, Record& run) {
  if (errors.failure == record::Failure::bad_exit) return;
  if (run.state == RunState::finished || run.state == RunState::stopped) {
    run.notes = with(run.notes, "after the end: " + errors.reason);
    return;
  }
  if (run.state != RunState::running || run.measured.restarts > 0) return;
  run.state = errors.state;
  run.failure = errors.failure;
  run.reason = errors.reason;
  if (run.origin.job.empty()) run.origin.job = errors.origin.job;
}

// Adds the result of a file of errors: the end of the last run of its job, or separate runs.
void add_errors(const LogFile& file, std::vector<Record> found, std::vector<Record>& runs) {
  const auto last = std::find_if(runs.rbegin(), runs.rend(),
                                 [&](const Record& run) { return run.origin.file == file.output; });
  if (last != runs.rend() && found.size() == 1 && only_ended(found.front()))
    return take_end(found.front(), *last);
  for (auto& run : found)
    if (!only_ended(run) ||
        (run.failure != record::Failure::none && run.failure != record::Failure::bad_exit))
      runs.push_back(std::move(run));
}

}  // namespace

Result<Ingested> ingest(const std::vector<std::string>& paths, const Patterns& patterns,
                        const IngestOptions& options) {
  auto files = list_files(paths);
  if (!files) return files.error();
  pair(files->files);
  drop_copies(*files);
  Ingested out;
  out.passed = std::move(files->passed);
  Errors errors;
  for (const auto& file : files->files) {
    Ingested errors_of_job;
    auto& into = file.output.empty() ? out : errors_of_job;
    const auto reason = read_log(file, patterns, options, into);
    out.bytes += errors_of_job.bytes;
    add_errors(file, std::move(errors_of_job.runs), out.runs);
    const bool stops = options.interrupted && options.interrupted();
    if (!reason && !file.named && !stops)
      out.passed.push_back({file.path, words_of(reason.error().front())});
    else if (!reason)
      errors.add(reason);
    else if (!reason->empty())
      out.passed.push_back({file.path == "-" ? "stdin" : file.path, *reason});
    if (stops) break;
  }
  if (!errors.empty()) return errors;
  return out;
}

}  // namespace orch::ingest

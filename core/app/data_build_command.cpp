#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/base/descriptor.h"
#include "core/base/files.h"
#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/train/data/indexed_writer.h"
#include "core/train/data/mapped_file.h"
#include "core/train/tokenize/tokenizer.h"

namespace orch::app {
namespace {

using TakeDocument = std::function<Status(std::string_view text)>;
using TakeLine = std::function<Status(std::string_view line, std::int64_t number)>;

std::string place_of(const std::string& input) { return input == "-" ? "stdin" : printable(input); }

bool is_jsonl(const std::string& input, const DocumentOptions& options) {
  if (options.type != "auto") return options.type == "jsonl";
  return input.ends_with(".jsonl") || input.ends_with(".ndjson");
}

// Refuses compressed files by the first bytes of gzip, zstd, xz and bzip2.
Status check_plain(const std::string& input, std::string_view text) {
  using namespace std::string_view_literals;
  for (const auto magic : {"\x1f\x8b"sv, "\x28\xb5\x2f\xfd"sv,
                           "\xfd"
                           "7zXZ"sv,
                           "BZh"sv})
    if (text.starts_with(magic))
      return Error{place_of(input), "is compressed",
                   "zcat (zstdcat, xzcat, bzcat) FILE | orch data build - --type ..."};
  return {};
}

Status each_line(std::string_view text, const TakeLine& take) {
  std::int64_t number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (auto status = take(text.substr(0, end), ++number); !status) return status;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return {};
}

Status document_of_line(std::string_view line, const TakeDocument& take) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line.empty() ? Status() : take(line);
}

Status document_of_json(std::string_view line, const std::string& place, const std::string& key,
                        const TakeDocument& take) {
  if (trim(line).empty()) return {};
  auto json = parse_json(line);
  if (json.is_discarded())
    return Error{place, "is not JSON", "write one object per line, as in {\"text\": \"...\"}"};
  if (!json.is_object()) return Error{place, "is not an object", "as in {\"text\": \"...\"}"};
  const auto found = json.find(key);
  if (found == json.end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : json.items()) names.push_back(printable(name));
    return Error{place, fmt::format("has no '{}'", printable(key)),
                 "--json-key: " + suggestion(key, names)};
  }
  if (!found->is_string())
    return Error{place, fmt::format("its '{}' is not a string", printable(key)),
                 "name another --json-key"};
  return take(found->get_ref<const std::string&>());
}

// Returns a function that takes each line as a document, or the text in it.
TakeLine line_taker(const std::string& input, const DocumentOptions& options,
                    const TakeDocument& take) {
  if (!is_jsonl(input, options))
    return [&take](std::string_view line, std::int64_t) { return document_of_line(line, take); };
  return [&take, place = place_of(input), key = options.json_key](std::string_view line,
                                                                  std::int64_t number) {
    return document_of_json(line, fmt::format("{}:{}", place, number), key, take);
  };
}

// Reads to the end; complete lines are passed on as they come, the rest is kept.
Status read_pipe(int fd, const std::string& input, const TakeLine* take, std::string& left) {
  char buffer[1 << 16];
  std::int64_t number = 0;
  bool first = true;
  while (true) {
    const auto got = ::read(fd, buffer, sizeof buffer);
    if (interrupted()) return {};  // take() reports it
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(place_of(input), "cannot read", errno);
    if (got == 0) return {};
    left.append(buffer, static_cast<std::size_t>(got));
    if (std::exchange(first, false))
      if (auto status = check_plain(input, left); !status) return status;
    const auto end = take ? left.rfind('\n') : std::string::npos;
    if (end == std::string::npos) continue;
    const auto counted = [&](std::string_view line, std::int64_t) {
      return (*take)(line, ++number);
    };
    if (auto status = each_line(std::string_view(left).substr(0, end + 1), counted); !status)
      return status;
    left.erase(0, end + 1);
  }
}

Status each_of_pipe(int fd, const std::string& input, const DocumentOptions& options,
                    const TakeDocument& take) {
  const bool lines = options.split_lines || is_jsonl(input, options);
  const auto taker = line_taker(input, options, take);
  std::string left;
  if (auto status = read_pipe(fd, input, lines ? &taker : nullptr, left); !status) return status;
  return lines ? each_line(left, taker) : take(left);
}

Status each_of_file(const std::string& input, const DocumentOptions& options,
                    const TakeDocument& take) {
  const auto file = data::MappedFile::open(input);
  if (!file) return file.error();
  file->expect_sequential();
  if (auto status = check_plain(input, file->text()); !status) return status;
  if (!options.split_lines && !is_jsonl(input, options)) return take(file->text());
  return each_line(file->text(), line_taker(input, options, take));
}

// Passes the documents of a file (or of "-", stdin) to `take` one after the other; an error of
// `take` ends it. A file is never in memory as a whole; from a pipe, one line is.
Status each_document(const std::string& input, const DocumentOptions& options,
                     const TakeDocument& take) {
  if (input == "-") return each_of_pipe(0, input, options, take);
  struct stat facts {};
  if (::stat(input.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode)) {
    const Descriptor pipe(::open(input.c_str(), O_RDONLY | O_CLOEXEC));
    if (!pipe.is_open()) return file_error(input, "cannot open", errno);
    return each_of_pipe(pipe.get(), input, options, take);
  }
  return each_of_file(input, options, take);
}

using WallSeconds = std::chrono::duration<double>;
using SteadyClock = std::chrono::steady_clock;

// Prints the progress from time to time.
class BuildProgress {
 public:
  explicit BuildProgress(Console& console) : console_(console) {}
  ~BuildProgress() { console_.progress(""); }
  void show(std::int64_t documents, std::int64_t tokens) {
    if (SteadyClock::now() - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = SteadyClock::now();
    console_.progress(fmt::format("{} documents, {} tokens, {}/s",
                                  group_digits(static_cast<double>(documents)),
                                  format_tokens(static_cast<double>(tokens)),
                                  format_tokens(static_cast<double>(tokens) / seconds())));
  }
  double seconds() const {
    return std::max(1e-9, WallSeconds(SteadyClock::now() - began_).count());
  }

 private:
  Console& console_;
  SteadyClock::time_point began_ = SteadyClock::now(), shown_ = began_;
};

const Error kInterrupted{"orch data build", "interrupted: nothing was written", ""};

class Builder {
 public:
  Builder(tokenize::Tokenizer& tokenizer, std::optional<std::int32_t> eod,
          data::IndexedWriter writer, Console& console)
      : tokenizer_(tokenizer), eod_(eod), writer_(std::move(writer)), progress_(console) {}

  Status add(std::string_view text) {
    bytes_ += static_cast<double>(text.size());
    if (text.empty()) {
      ++empty_;
      return {};
    }
    Status status;
    tokenizer_.encode(text, [&](std::span<const std::int32_t> tokens) {
      status = interrupted() ? Status(kInterrupted) : writer_.add(tokens);
      tokens_ += static_cast<std::int64_t>(tokens.size());
      progress_.show(writer_.documents(), tokens_);
      return static_cast<bool>(status);
    });
    if (status && eod_) status = writer_.add(std::span(&*eod_, 1));
    if (status) status = writer_.end_document();
    return status;
  }

  Status finish() {
    if (interrupted()) return kInterrupted;
    return writer_.finish();
  }

  std::string summary() const {
    const double seconds = progress_.seconds();
    const auto left_out = empty_ > 0 ? fmt::format(" ({} empty left out)", empty_) : "";
    return fmt::format("{}{}, {} tokens from {} in {} ({}/s)",
                       plural(writer_.documents(), "document"), left_out,
                       group_digits(static_cast<double>(writer_.tokens())), format_bytes(bytes_),
                       format_seconds(seconds), format_bytes(bytes_ / seconds));
  }
  std::int64_t documents() const { return writer_.documents(); }

 private:
  tokenize::Tokenizer& tokenizer_;
  std::optional<std::int32_t> eod_;
  data::IndexedWriter writer_;
  BuildProgress progress_;
  std::int64_t tokens_ = 0;
  std::int64_t empty_ = 0;
  double bytes_ = 0;
};

Result<std::optional<std::int32_t>> eod_of(const tokenize::Tokenizer& tokenizer,
                                           const DataBuildArguments& arguments) {
  if (!arguments.append_eod) return std::optional<std::int32_t>();
  if (arguments.eod.empty()) {
    if (const auto end = tokenizer.end_of_text()) return end;
    return Error{printable(arguments.tokenizer), "has no known end-of-text token",
                 "name it with --eod TOKEN, or give --no-eod"};
  }
  if (const auto token = tokenizer.find(arguments.eod)) return token;
  return Error{"--eod",
               fmt::format("'{}' is not a token of {}", printable(arguments.eod),
                           printable(arguments.tokenizer)),
               "name one of its tokens"};
}

Status build(const DataBuildArguments& arguments, Builder& builder) {
  for (const auto& input : arguments.inputs) {
    auto status = each_document(input, arguments.documents, [&](std::string_view text) {
      return interrupted() ? Status(kInterrupted) : builder.add(text);
    });
    if (!status) return status;
    if (interrupted()) return kInterrupted;
  }
  if (builder.documents() == 0)
    return Error{"orch data build", "the inputs have no text", "nothing was written"};
  return builder.finish();
}

}  // namespace

Ending data_build_command(const DataBuildArguments& arguments, Console& console) {
  auto tokenizer = tokenize::open_tokenizer(arguments.tokenizer);
  if (!tokenizer) return tokenizer.error();
  const auto eod = eod_of(**tokenizer, arguments);
  if (!eod) return {eod.error(), Exit::usage};
  const auto vocab = (*tokenizer)->vocab_size();
  const auto dtype = data::dtype_for(vocab);
  auto writer = data::IndexedWriter::create(arguments.output, dtype, arguments.force);
  if (!writer) return writer.error();
  Builder builder(**tokenizer, *eod, std::move(*writer), console);
  if (auto status = build(arguments, builder); !status)
    return {status.error(), interrupted() ? Exit::interrupted : Exit::error};
  console.print(
      fmt::format("{0}.bin and {0}.idx: {1}\nvocabulary {2}, {3} each\n"
                  "next: orch data show {0}\n",
                  printable(arguments.output), builder.summary(), vocab, data::name(dtype)));
  return Exit::ok;
}

}  // namespace orch::app

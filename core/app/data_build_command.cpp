#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/app/data_documents.h"
#include "core/train/data/indexed_writer.h"
#include "core/train/tokenize/tokenizer.h"

namespace orch::app {
namespace {

using Seconds = std::chrono::duration<double>;
using Stopwatch = std::chrono::steady_clock;

// Told now and then to who waits.
class Progress {
 public:
  explicit Progress(Console& console) : console_(console) {}
  ~Progress() { console_.progress(""); }
  void show(std::int64_t documents, std::int64_t tokens) {
    if (Stopwatch::now() - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = Stopwatch::now();
    console_.progress(fmt::format("{} documents, {} tokens, {}/s",
                                  group_digits(static_cast<double>(documents)),
                                  format_tokens(static_cast<double>(tokens)),
                                  format_tokens(static_cast<double>(tokens) / seconds())));
  }
  double seconds() const { return std::max(1e-9, Seconds(Stopwatch::now() - began_).count()); }

 private:
  Console& console_;
  Stopwatch::time_point began_ = Stopwatch::now(), shown_ = began_;
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
  Progress progress_;
  std::int64_t tokens_ = 0;
  std::int64_t empty_ = 0;
  double bytes_ = 0;
};

Result<std::optional<std::int32_t>> eod_of(const tokenize::Tokenizer& tokenizer,
                                           const DataBuildArguments& arguments) {
  if (!arguments.append_eod) return std::optional<std::int32_t>();
  if (arguments.eod.empty()) {
    if (const auto end = tokenizer.end_of_text()) return end;
    return Error{printable(arguments.tokenizer), "has no end-of-text token that we know",
                 "name it with --eod TOKEN, or give --no-eod"};
  }
  if (const auto token = tokenizer.find(arguments.eod)) return token;
  return Error{"--eod",
               fmt::format("'{}' is no token of {}", printable(arguments.eod),
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
    return Error{"orch data build", "there is no text in the inputs", "nothing was written"};
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

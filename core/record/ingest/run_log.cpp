#include <fcntl.h>
#include <unistd.h>

#include <map>

#include "core/base/descriptor.h"
#include "core/record/ingest/conclude.h"
#include "core/record/ingest/ingest.h"
#include "core/record/ingest/matcher.h"

namespace orch::ingest {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kLongestLine = std::size_t{256} << 10;

}  // namespace

struct RunLog::Impl {
  Impl(const Patterns& from, const KnownFacts& known)
      : patterns(from.impl()),
        beside(LoggedSettings::of(known, 0)),
        session([this](LoggedRun& run) { done = std::make_unique<LoggedRun>(std::move(run)); }),
        matcher(patterns, session) {}

  const Patterns::Impl& patterns;
  LoggedSettings beside;
  std::unique_ptr<LoggedRun> done;  // the last run that is over
  LogSession session;
  Matcher matcher;
  std::map<fs::path, std::uint64_t> at;
  fs::path file;  // the last file that was read
  std::string rest, cleaned;
  std::uint64_t lines = 0;

  void take(std::string_view line) {
    ++lines;
    if (!is_clean(line)) {
      clean_line(line, cleaned);
      line = cleaned;
    }
    if (!line.empty()) matcher.take({line.substr(0, kLongestLine), lines, true});
  }

  // Each state of a progress bar is a line.
  void split() {
    std::size_t from = 0;
    for (auto end = rest.find_first_of("\r\n"); end != std::string::npos;
         end = rest.find_first_of("\r\n", from)) {
      take(std::string_view(rest).substr(from, end - from));
      from = end + 1;
    }
    rest.erase(0, from);
    if (rest.size() > kLongestLine) rest.clear();  // not a line of a log
  }
};

RunLog::RunLog(const Patterns& patterns, const KnownFacts& beside)
    : impl_(std::make_unique<Impl>(patterns, beside)) {}
RunLog::RunLog(RunLog&&) noexcept = default;
RunLog& RunLog::operator=(RunLog&&) noexcept = default;
RunLog::~RunLog() = default;

void RunLog::read(const fs::path& file) {
  if (file != impl_->file) impl_->rest.clear();
  impl_->file = file;
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.is_open()) return;
  auto& at = impl_->at[file];
  std::string block(kBlock, '\0');
  std::ptrdiff_t got = 0;
  while ((got = read_at(opened.get(), at, block.data(), block.size())) > 0) {
    at += static_cast<std::uint64_t>(got);
    impl_->rest.append(block, 0, static_cast<std::size_t>(got));
    impl_->split();
  }
}

void RunLog::end_file() {
  if (!impl_->rest.empty()) impl_->take(std::exchange(impl_->rest, {}));
  impl_->matcher.finish();
}

record::FailureReport RunLog::confession() const {
  const auto& sign = impl_->session.sign();
  return {sign.cancelled ? record::Failure::none : sign.failure, sign.words};
}

std::optional<record::Record> RunLog::found(const std::string& id) const {
  const LoggedRun* run = impl_->session.latest();
  if (run == nullptr || !run->says_anything()) run = impl_->done.get();
  if (run == nullptr) return std::nullopt;
  auto copy = *run;
  copy.settings.fill(impl_->beside);
  return conclude(copy, impl_->patterns.timers, impl_->file.string(), id);
}

}  // namespace orch::ingest

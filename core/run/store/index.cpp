#include "core/run/store/index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/descriptor.h"
#include "core/base/draft.h"
#include "core/base/text.h"
#include "core/run/store/index_lines.h"

namespace orch::store {
namespace {

constexpr std::size_t kLargestIndex = std::size_t{1} << 30;
constexpr std::size_t kHead = 64;        // more than its first line has
constexpr std::size_t kFewLines = 1000;  // not worth to be written anew
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kBetweenTries = std::chrono::milliseconds(5);

// All of it, or a part of its beginning: in one call, since every call may take milliseconds.
Result<std::string> text_of(const fs::path& path, std::optional<std::size_t> part = {}) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open() && errno == ENOENT) return std::string();
  struct stat about = {};
  if (!file.is_open() || ::fstat(file.get(), &about) != 0)
    return file_error(path, "cannot open", errno);
  if (!S_ISREG(about.st_mode)) return Error{printable(path.string()), "is not a plain file", ""};
  const auto size = static_cast<std::size_t>(about.st_size);
  if (!part && size > kLargestIndex)
    return Error{printable(path.string()), "is too large", "orch index makes it anew"};
  std::string text(std::min(size, part.value_or(size)), '\0');
  const auto got = read_at(file.get(), 0, text.data(), text.size());
  if (got < 0) return file_error(path, "cannot read", errno);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

std::vector<std::string> lines_of(const IndexLines& held) {
  std::vector<std::string> lines;
  for (const auto& [key, row] : held.rows) lines.push_back(index_line(row));
  return lines;
}

Status write_anew(const fs::path& file, const std::vector<std::string>& lines) {
  auto draft = DraftFile::create(file, DraftFile::Name::fixed);
  if (!draft) return draft.error();
  if (auto status = draft->append(index_head()); !status) return status;
  for (const auto& line : lines)
    if (auto status = draft->append(line); !status) return status;
  if (auto status = draft->append(batch_end(lines.size())); !status) return status;
  if (auto status = draft->close(); !status) return status;
  return draft->publish();
}

bool is_stale(const IndexLines& held) { return held.lines > 2 * held.keys.size() + kFewLines; }

// Waits for it, but not for long: who holds it may be stopped, or on a host that is gone. Gives
// errno. Not flock, which some file systems of several hosts keep to one host.
int lock_whole(int file) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (::fcntl(file, F_SETLK, &lock) != 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EACCES) return errno;
    if (std::chrono::steady_clock::now() >= until) return EAGAIN;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return 0;
}

// Whether its last line is the end of a batch, or the first of a file.
bool ends_whole(std::string_view text) {
  if (!text.ends_with("}\n")) return false;
  const auto before = text.rfind('\n', text.size() - 2);
  const auto last = text.substr(before == text.npos ? 0 : before + 1);
  return last.starts_with("{\"lines\":") || (before == text.npos && last == index_head());
}

}  // namespace

Index Index::open(const fs::path& root) {
  Index index(root);
  index.locked([&]() -> Status {
    std::error_code ignored;
    if (const auto size = fs::file_size(index.file_, ignored); !ignored && size > kLargestIndex)
      return write_anew(index.file_, {});
    const auto text = text_of(index.file_, kHead);  // the rest is read when it is needed
    if (!text) return text.error();
    const auto first = text->substr(0, text->find('\n') + 1);
    const auto head = parse_index(first.empty() ? *text : first);
    if (!head) index.set_aside();
    if (head && head->other_version) return write_anew(index.file_, {});
    return {};
  });
  return index;
}

template <class Body>
void Index::locked(const Body& body) {
  if (!available()) return;
  const Descriptor file(::open(lock_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.is_open()) {
    why_ = file_error(lock_, "cannot open", errno).text();
    return;
  }
  const int code = lock_whole(file.get());
  if (code == EAGAIN)
    why_ = printable(lock_.string()) + ": busy: another process keeps it locked";
  else if (code != 0)
    why_ = fmt::format("{}: the file system cannot lock files: {}", printable(lock_.string()),
                       std::strerror(code));
  else if (auto status = body(); !status)
    why_ = status.error().front().text();
}

void Index::set_aside() {
  std::error_code ignored;
  fs::rename(file_, file_.string() + ".damaged", ignored);
}

std::vector<Index::Row> Index::rows(const std::string& experiment) {
  if (!available()) return {};
  auto text = text_of(file_);
  if (!text) {
    why_ = text.error().front().text();
    return {};
  }
  auto found = parse_index(*text, experiment);
  // A second look, while nobody writes: another process may have made it anew.
  if (!found)
    locked([&]() -> Status {
      text = text_of(file_);
      if (!text) return text.error();
      found = parse_index(*text, experiment);
      if (found) return {};
      set_aside();
      return Error{printable(file_.string()), "is damaged", ""};
    });
  if (!found) return {};
  stale_ = is_stale(*found);
  std::vector<Row> out;
  for (auto& [key, row] : found->rows) out.push_back(std::move(row));
  return out;
}

// What a killed writer left behind the last whole batch goes, and what does not fit on the disk.
Status Index::append(const std::vector<std::string>& lines) {
  const auto text = text_of(file_);
  if (!text) return text.error();
  const auto head = index_head();
  if (!text->starts_with(head) && !head.starts_with(*text))
    return Error{printable(file_.string()), "is of another version, or damaged", ""};
  auto from = static_cast<off_t>(text->size());
  if (stale_ || !ends_whole(*text)) {
    const auto held = parse_index(*text);
    if (!held) return Error{printable(file_.string()), "is damaged", ""};
    from = static_cast<off_t>(held->whole);
    if (std::exchange(stale_, false) && is_stale(*held)) {  // nobody was faster
      auto all = lines_of(*held);
      all.insert(all.end(), lines.begin(), lines.end());
      return write_anew(file_, all);
    }
  }
  auto added = from == 0 ? head : std::string();
  for (const auto& line : lines) added += line;
  added += batch_end(lines.size());
  Descriptor file(::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file.is_open()) return file_error(file_, "cannot open", errno);
  const auto cut = [&] { return ::ftruncate(file.get(), from) == 0 ? 0 : errno; };
  int code = cut();
  if (code == 0 && ::lseek(file.get(), from, SEEK_SET) < 0) code = errno;
  if (code == 0) code = write_all(file.get(), added);
  if (code != 0) cut();
  if (const int closed = file.close(); code == 0) code = closed;
  return code == 0 ? Status() : Status(file_error(file_, "cannot write", code));
}

void Index::put(const std::vector<Row>& rows) {
  if (rows.empty()) return;
  std::vector<std::string> lines;
  for (const auto& row : rows) lines.push_back(index_line(row));
  locked([&] { return append(lines); });
}

void Index::replace_all(const std::vector<Row>& rows) {
  std::vector<std::string> lines;
  for (const auto& row : rows) lines.push_back(index_line(row));
  locked([&] { return write_anew(file_, lines); });
}

void Index::forget(const std::string& experiment, const std::vector<std::string>& ids) {
  if (ids.empty()) return;
  locked([&]() -> Status {
    const auto text = text_of(file_);
    if (!text) return text.error();
    const auto held = parse_index(*text, experiment);
    if (!held) return Error{printable(file_.string()), "is damaged", ""};
    std::vector<std::string> lines;
    for (const auto& id : ids)
      if (held->keys.contains({experiment, id})) lines.push_back(forget_line(experiment, id));
    return lines.empty() ? Status() : append(lines);
  });
  if (!available()) ::unlink(file_.c_str());
}

void Index::keep_only(const std::string& experiment, const std::vector<std::string>& ids) {
  const std::set<std::string> kept(ids.begin(), ids.end());
  std::vector<std::string> gone;
  for (const auto& row : rows(experiment))
    if (!kept.contains(row.facts.id)) gone.push_back(forget_line(experiment, row.facts.id));
  if (!gone.empty()) locked([&] { return append(gone); });
}

}  // namespace orch::store

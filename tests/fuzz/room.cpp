#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/base/descriptor.h"
#include "core/base/terminal.h"
#include "core/base/text.h"
#include "core/cli/program.h"
#include "tests/fuzz/door.h"

namespace orch::fuzz {
namespace {

constexpr std::string_view kMark = "\n=== part: ";

fs::path the_room;
pid_t owner = 0;  // workers do not remove the room

void remove_room() {
  if (::getpid() != owner) return;
  std::error_code ignored;
  fs::current_path("/", ignored);
  fs::remove_all(the_room, ignored);
}

// No name of a part leads out of the room.
bool is_inside(const fs::path& name) {
  return !name.empty() && name.is_relative() && name.string().find('\0') == std::string::npos &&
         std::none_of(name.begin(), name.end(), [](const fs::path& part) { return part == ".."; });
}

// Captures what is written to a stream while it lives.
class Caught {
 public:
  explicit Caught(FILE*& stream) : stream_(stream), before_(stream) {
    stream_ = ::open_memstream(&text_, &size_);
  }
  ~Caught() {
    std::fclose(stream_);
    stream_ = before_;
    std::free(text_);
  }
  std::string_view text() {
    std::fflush(stream_);
    return {text_, size_};
  }

 private:
  FILE*& stream_;
  FILE* before_;
  char* text_ = nullptr;
  std::size_t size_ = 0;
};

void check_said(std::string_view text, const std::string& verb) {
  const auto bad = std::find_if(text.begin(), text.end(), [](unsigned char c) {
    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
  });
  if (bad == text.end()) return;
  const auto at = static_cast<std::size_t>(bad - text.begin());
  throw FuzzFinding(fmt::format("orch {} says a control byte: …{}…", verb,
                                printable(text.substr(at < 60 ? 0 : at - 60, 120))));
}

}  // namespace

std::string pack(const Input& input) {
  if (input.size() == 1 && input[0].name.empty()) return input[0].bytes;
  std::string bytes;
  for (const auto& part : input) bytes += std::string(kMark) + part.name + "\n" + part.bytes;
  return bytes;
}

Input unpack(std::string_view bytes) {
  if (!bytes.starts_with(kMark)) return {{"", std::string(bytes)}};
  Input input;
  while (!bytes.empty()) {
    bytes.remove_prefix(kMark.size());
    const auto line = std::min(bytes.find('\n'), bytes.size());
    const auto end = std::min(bytes.find(kMark, line), bytes.size());
    const auto begin = std::min(line + 1, end);
    input.push_back(
        {std::string(bytes.substr(0, line)), std::string(bytes.substr(begin, end - begin))});
    bytes.remove_prefix(end);
  }
  return input;
}

const fs::path& room() { return the_room; }

void enter_room() {
  std::error_code code;
  const auto base = fs::is_directory("/dev/shm", code) && ::access("/dev/shm", W_OK) == 0
                        ? fs::path("/dev/shm")
                        : fs::temp_directory_path();
  auto name = (base / "orch-fuzz-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
  the_room = name;
  owner = ::getpid();
  std::atexit(remove_room);
  fs::current_path(the_room);
  for (const auto* folder : {"programs", "own"})
    fs::create_directory(the_room / ("kept-" + std::string(folder)));
  ::setenv("ORCH_HOME", kSource.c_str(), 1);
  ::setenv("ORCH_PLUGINS", ORCH_BINARY_DIR "/plugins", 1);
  ::setenv("PATH", (the_room / "kept-programs").c_str(), 1);
  ::setenv("XDG_DATA_HOME", (the_room / "kept-own").c_str(), 1);
  ::setenv("NO_COLOR", "1", 1);
  ::setenv("TERM", "dumb", 1);
  ::unsetenv("ORCH_TRAINER");
}

void furnish(const Input& input) {
  for (const auto& entry : entries_of(the_room))
    if (!entry.filename().string().starts_with("kept")) fs::remove_all(entry);
  for (const auto& part : input) {
    const auto path = the_room / part.name;
    std::error_code code;
    if (!is_inside(part.name)) continue;
    fs::create_directories(path.parent_path(), code);
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.is_open()) write_all(file.get(), part.bytes);
  }
}

void orch(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"orch"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Caught out(stdout), err(stderr);
  const auto code = cli::program(static_cast<int>(words.size()), argv.data());
  if (show)
    write_all(2, printable_lines(fmt::format("$ {}\n{}{}exit code {}\n", join(words, " "),
                                             out.text(), err.text(), code)));
  check_said(out.text(), arguments[0]);
  check_said(err.text(), arguments[0]);
}

std::size_t choice(const Input& input, std::size_t count) {
  return static_cast<std::size_t>(stable_hash(pack(input)) % count);
}

std::string text_of(const fs::path& file) {
  auto text = read_file(file);
  if (text) return std::move(*text);
  throw std::runtime_error(orch::text(text.error()));
}

std::vector<Input> files_as_seeds(std::string_view folder, std::string_view ending) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / folder))
    if (entry.is_regular_file() && entry.path().string().ends_with(ending)) files.push_back(entry);
  std::sort(files.begin(), files.end());
  std::vector<Input> seeds;
  for (const auto& file : files) seeds.push_back({{"", text_of(file)}});
  return seeds;
}

Input folder_as_seed(const fs::path& folder, const std::string& name) {
  Input input;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      input.push_back({(name / entry.path().lexically_relative(folder)).string(), text_of(entry)});
  std::sort(input.begin(), input.end(),
            [](const InputPart& a, const InputPart& b) { return a.name < b.name; });
  return input;
}

}  // namespace orch::fuzz

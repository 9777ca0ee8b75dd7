#include "core/base/plain_file.h"

#include <sys/stat.h>

#include "core/base/json_fields.h"
#include "tests/place.h"
#include "tests/test.h"

using namespace orch;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const fs::path& path, std::int64_t from = 0, std::size_t most = 1000) {
  Lines out;
  PlainFile(path).each_line(from, [&](std::string_view line) {
    out.emplace_back(line);
    return out.size() < most;
  });
  return out;
}

}  // namespace

TEST_CASE("lines are visited from a place on, until it is enough", "[base][files]") {
  const TestFolder place;
  const auto file = place.file("lines", "one\n\nthree\nhalf");
  CHECK(lines_of(file) == Lines{"one", "", "three", "half"});
  CHECK(lines_of(file, 1) == Lines{"", "three", "half"});
  CHECK(lines_of(file, 0, 1) == Lines{"one"});
  CHECK(lines_of(place.file("empty", "")).empty());
  const std::string block(1 << 20, 'x');  // the size of a read
  CHECK((lines_of(place.file("long", block + "y\n" + block + "\nz\n")) ==
         Lines{block + "y", block, "z"}));
}

TEST_CASE("what is not a plain file is neither opened nor waited for", "[base][files]") {
  const TestFolder place;
  REQUIRE(::mkfifo((place.root() / "pipe").c_str(), 0600) == 0);
  for (const auto* name : {"missing", ".", "pipe"})
    CHECK_FALSE(PlainFile(place.root() / name).is_open());
  CHECK_FALSE(*is_plain_file(place.root() / "missing"));
  CHECK_FALSE(is_plain_file(place.root()));
  CHECK_FALSE(is_plain_file(place.root() / "pipe"));
  CHECK(*is_plain_file(place.file("plain", "")));
}

TEST_CASE("a file may be as large as its reader says", "[base][files]") {
  const TestFolder place;
  const auto file = place.root() / "large";
  place.file("large", "x");
  fs::resize_file(file, (64 << 20) + 1);
  const auto refused = read_file(file);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().fact == "is larger than 64 MiB");
  CHECK((*read_if_there(file, std::size_t{65} << 20))->size() == (64 << 20) + 1);
  CHECK_FALSE(read_if_there(file, std::size_t{64} << 20));
}

#include "backends/runtime/loop/tensorboard.h"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <fstream>

#include "backends/runtime/host/failure.h"
#include "core/base/text.h"
#include "tests/place.h"

using namespace orch;
using namespace orch::train;

namespace {

fs::path only_file(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  return files[0];
}

struct ReadRecord {
  std::string text;
  int status;
};

ReadRecord read_with_python(const fs::path& file) {
  const auto command = "python3 " ORCH_SOURCE_DIR "/tests/runtime/tensorboard_reader.py " +
                       shell_quote(file.string()) + " 2>&1";
  auto* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe);
  ReadRecord read;
  std::array<char, 256> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe)) read.text += buffer.data();
  read.status = ::pclose(pipe);
  return read;
}

}  // namespace

// RFC 3720, appendix B.4, contains the zeros and ones; "123456789" is the customary check.
TEST_CASE("CRC32C gives the published values", "[runtime][tensorboard]") {
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
  CHECK(crc32c("") == 0);
}

TEST_CASE("an independent reader understands our TensorBoard files", "[runtime][tensorboard]") {
  const ::TestFolder folder;
  {
    TensorBoard board(folder.root());
    board.scalars(1, {{"loss", 2.5}, {"learning_rate", 0.25}});
    board.scalars(300, {{"evaluation_loss", -1e10}});  // a step of two bytes
  }
  const auto file = only_file(folder.root() / "tensorboard");
  const auto name = file.filename().string();
  CHECK(name.starts_with("events.out.tfevents.1"));
  CHECK(name.ends_with(".orch"));
  const auto read = read_with_python(file);
  INFO(read.text);
  CHECK(read.status == 0);
  CHECK(read.text == "1 loss 2.5\n1 learning_rate 0.25\n300 evaluation_loss -10000000000.0\n");

  std::fstream(file, std::ios::in | std::ios::out).seekp(30).put('x');
  CHECK(read_with_python(file).status != 0);
}

TEST_CASE("TensorBoard without a folder says nothing, without a place it says why",
          "[runtime][tensorboard]") {
  TensorBoard silent;
  silent.scalars(1, {{"loss", 1}});
  CHECK_THROWS_AS(TensorBoard("/proc/nowhere"), ClassifiedFailure);
}

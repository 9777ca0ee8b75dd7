#include "core/train/checkpoint/safetensors.h"
#include "tests/place.h"
#include "tests/test.h"
#include "tests/train/checkpoint/made.h"

using namespace made;
using checkpoint::CheckpointReader;

namespace {

std::vector<SavedState> two_shares() {
  return {{{saved(TensorPiece::whole("weights/a", TensorDtype::f32, {5, 3})),
            {TensorPiece::whole("flag", TensorDtype::u8, {3}), bytes<std::uint8_t>({1, 2, 3})}}},
          {{saved(TensorPiece::whole("weights/b", TensorDtype::f32, {7}))}}};
}

fs::path written(const TestFolder& place) {
  REQUIRE(write_all(place.root(), at_step(3), two_shares()));
  return place.root() / "step-00000003";
}

std::string reason(const fs::path& checkpoint) {
  const auto reader = CheckpointReader::open(checkpoint);
  return reader ? "" : text(reader.error());
}

void put(const fs::path& file, const std::string& content) {
  // Not truncated first: some file systems then write to the disk at once.
  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out) << content;
  fs::resize_file(file, content.size());
}

}  // namespace

TEST_CASE("what was said of a run comes back", "[checkpoint]") {
  const TestFolder place;
  auto facts = at_step(12);
  facts.consumed_samples = 1ll << 40;
  facts.seed = -5;
  facts.numbers = {{"loss_scale", 0.1}, {"worst", -std::numeric_limits<double>::infinity()}};
  facts.texts = {{"model", R"({"family":"gpt"})"}, {"", "line\nbreak"}};
  REQUIRE(write_all(place.root(), facts, two_shares()));
  const auto reader = CheckpointReader::open(place.root() / "step-00000012");
  REQUIRE(reader);
  CHECK(reader->facts().step == 12);
  CHECK(reader->facts().consumed_samples == 1ll << 40);
  CHECK(reader->facts().seed == -5);
  CHECK(reader->facts().ranks == 2);
  CHECK(reader->facts().numbers == facts.numbers);
  CHECK(reader->facts().texts == facts.texts);
  CHECK(reader->names() == std::vector<std::string>{"flag", "weights/a", "weights/b"});
  CHECK(reader->find("weights/b")->shape == std::vector<std::int64_t>{7});
  CHECK(reader->find("weights/c") == nullptr);
}

TEST_CASE("a change of any byte of any file is found", "[checkpoint]") {
  const TestFolder place;
  const auto checkpoint = written(place);
  for (const auto& entry : fs::directory_iterator(checkpoint)) {
    const auto content = *read_file(entry.path());
    INFO(entry.path());
    for (std::size_t i = 0; i < content.size(); ++i) {
      auto changed = content;
      changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
      put(entry.path(), changed);
      REQUIRE_FALSE(CheckpointReader::open(checkpoint));
    }
    put(entry.path(), content);
  }
  CHECK(reason(checkpoint).empty());
}

TEST_CASE("a file of any other length is found, without reading it", "[checkpoint]") {
  const TestFolder place;
  const auto checkpoint = written(place);
  for (const auto& entry : fs::directory_iterator(checkpoint)) {
    const auto content = *read_file(entry.path());
    for (std::size_t length = 0; length < content.size(); ++length) {
      fs::resize_file(entry.path(), length);
      REQUIRE_FALSE(CheckpointReader::open(checkpoint, false));
      put(entry.path(), content);
    }
    put(entry.path(), content + "x");
    REQUIRE_FALSE(CheckpointReader::open(checkpoint, false));
    put(entry.path(), content);
  }
  CHECK(reason(checkpoint).empty());
}

TEST_CASE("what is wrong with a checkpoint is said", "[checkpoint]") {
  const TestFolder place;
  const auto checkpoint = written(place);
  const auto shard = checkpoint / "rank-1.safetensors";
  const auto content = *read_file(shard);
  put(shard, content.substr(0, content.size() - 1));
  CHECK_THAT(reason(checkpoint), ContainsSubstring("rank-1.safetensors: is shorter"));
  put(shard, content.substr(0, content.size() - 1) + "x");
  CHECK_THAT(reason(checkpoint), ContainsSubstring("rank-1.safetensors: is damaged"));
  fs::remove(shard);
  CHECK_THAT(reason(checkpoint), ContainsSubstring("rank-1.safetensors: cannot open"));
  fs::remove(checkpoint / "checkpoint.json");
  CHECK_THAT(reason(checkpoint), ContainsSubstring("checkpoint.json: cannot open"));
}

TEST_CASE("the one before a corrupt one is used, and the corrupt one is named", "[checkpoint]") {
  const TestFolder place;
  REQUIRE(write_all(place.root(), at_step(1), two_shares()));
  REQUIRE(write_all(place.root(), at_step(2), two_shares()));
  put(place.root() / "step-00000002/rank-0.safetensors", "x");
  const auto latest = checkpoint::open_latest(place.root());
  REQUIRE(latest.reader);
  CHECK(latest.reader->facts().step == 1);
  CHECK(latest.path == place.root() / "step-00000001");
  REQUIRE(latest.skipped.size() == 1);
  CHECK_THAT(latest.skipped[0].place, ContainsSubstring("step-00000002"));
}

TEST_CASE("a shard is a safetensors file with the pieces in it", "[checkpoint]") {
  const TestFolder place;
  const auto header = checkpoint::read_safetensors_header(written(place) / "rank-0.safetensors");
  REQUIRE(header);
  REQUIRE(header->tensors.size() == 2);
  CHECK(header->data_begin % 64 == 0);
  CHECK(header->tensors[0].name == "weights/a");
  CHECK(header->tensors[0].dtype == "F32");
  CHECK(header->tensors[0].shape == std::vector<std::int64_t>{5, 3});
  CHECK(header->tensors[0].end == 60);
  CHECK(header->tensors[1].name == "flag");
  CHECK(header->tensors[1].end == 63);
}

TEST_CASE("a safetensors file that is not whole is refused", "[checkpoint]") {
  const TestFolder place;
  const auto refused = [&](const std::string& content) {
    const auto header = checkpoint::read_safetensors_header(place.file("x.safetensors", content));
    return header ? std::string() : text(header.error());
  };
  const auto with = [](std::string json, std::size_t data) {
    const std::string length{static_cast<char>(json.size()), 0, 0, 0, 0, 0, 0, 0};
    return length + json + std::string(data, 'x');
  };
  CHECK(refused(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8)).empty());
  CHECK_THAT(refused(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7)),
             ContainsSubstring("beyond its end"));
  CHECK_THAT(refused(with(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8)),
             ContainsSubstring("other bytes than its shape [3]"));
  CHECK_THAT(refused(with(R"({"a":{"dtype":"F32","shape":["x"],"data_offsets":[0,8]}})", 8)),
             ContainsSubstring("header"));
  CHECK_THAT(refused(with(R"({"a")", 8)), ContainsSubstring("header"));
  CHECK_THAT(refused(std::string(8, '\xff')), ContainsSubstring("longer than the file"));
  CHECK_THAT(refused("abc"), ContainsSubstring("too short"));
}

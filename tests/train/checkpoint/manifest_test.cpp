#include "core/train/checkpoint/manifest.h"

#include "core/train/checkpoint/checksum.h"
#include "core/train/checkpoint/index.h"
#include "core/train/checkpoint/pieces.h"
#include "tests/test.h"
#include "tests/train/checkpoint/made.h"

using namespace made;
using checkpoint::Manifest;
using checkpoint::TensorIndex;

namespace {

constexpr std::int64_t kManyRanks = 4096;
using Shares = std::vector<std::vector<TensorPiece>>;  // by rank

// Consecutive boxes, cut over several ranks beginning with `first`.
void cut_row(const std::vector<TensorPiece>& row, std::size_t first, std::int64_t ranks,
             Shares& shares) {
  std::int64_t all = 0;
  for (const auto& box : row) all += box.end;
  std::int64_t at = 0;
  for (const auto& box : row) {
    for (auto rank = at * ranks / all; rank < ranks && all * rank / ranks < at + box.end; ++rank) {
      const auto begin = std::max(all * rank / ranks - at, std::int64_t{0});
      const auto end = std::min(all * (rank + 1) / ranks - at, box.end);
      if (begin < end)
        shares[first + static_cast<std::size_t>(rank)].push_back(range(box, begin, end));
    }
    at += box.end;
  }
}

std::string numbered(const char* what, std::int64_t i) { return what + std::to_string(i); }

Manifest manifest_of(const Shares& shares) {
  Manifest manifest;
  manifest.facts.ranks = static_cast<int>(shares.size());
  for (const auto& pieces : shares) {
    std::uint64_t bytes = 0;
    for (const auto& piece : pieces) bytes += static_cast<std::uint64_t>(elements(piece)) * 4;
    REQUIRE(manifest.add({1024 + bytes, 7, 1024}, pieces));
  }
  return manifest;
}

// Returns the length of the text; it must read back the same and complete.
std::size_t check_text(const Shares& shares) {
  const auto manifest = manifest_of(shares);
  const auto json = checkpoint::checkpoint_json(manifest);
  const auto back = checkpoint::parse_checkpoint_json(json, "checkpoint.json");
  REQUIRE(back);
  CHECK(back->shards.size() == shares.size());
  REQUIRE(back->state.segments().size() == manifest.state.segments().size());
  for (std::size_t i = 0; i < manifest.state.segments().size(); ++i) {
    const auto &a = back->state.segments()[i], &b = manifest.state.segments()[i];
    if (a.begin != b.begin || a.end != b.end || a.rank != b.rank || a.at != b.at)
      FAIL("segment " << i);
  }
  REQUIRE(TensorIndex::make(back->state));
  return json.size();
}

// The error for a checkpoint.json with these members and a right checksum.
std::string refused(const std::string& tensors, const std::string& shards, int ranks = 1,
                    const std::string& numbers = "{}") {
  const auto text = R"({"version":1,"step":1,"consumed_samples":0,"seed":0,"ranks":)" +
                    std::to_string(ranks) + R"(,"numbers":)" + numbers +
                    R"(,"texts":{},"tensors":)" + tensors + R"(,"shards":)" + shards;
  const auto manifest = checkpoint::parse_checkpoint_json(
      text + R"(,"sum":")" + checkpoint::hex(checkpoint::checksum(text)) + "\"}\n", "c.json");
  if (!manifest) return orch::text(manifest.error());
  const auto index = TensorIndex::make(manifest->state);
  return index ? "" : orch::text(index.error());
}

std::string shard(std::int64_t bytes, const std::string& segments) {
  return R"({"bytes":)" + std::to_string(bytes) +
         R"(,"checksum":"0000000000000000","data_begin":0,"segments":)" + segments + "}";
}

std::string boxes_refused(const std::vector<TensorPiece>& boxes) {
  const auto index = TensorIndex::make(manifest_of({boxes}).state);
  return index ? "" : orch::text(index.error());
}

}  // namespace

TEST_CASE("a thousand tensors in a row over 4,096 ranks take what both take", "[checkpoint]") {
  std::vector<TensorPiece> row;
  for (int i = 0; i < 1000; ++i)
    row.push_back(TensorPiece::whole(numbered("weights/", i), TensorDtype::f32, {4096, 1000 + i}));
  Shares shares(kManyRanks);
  cut_row(row, 0, kManyRanks, shares);
  const auto manifest = manifest_of(shares);
  CHECK(manifest.state.boxes().size() == 1000);
  CHECK(manifest.state.segments().size() == kManyRanks);
  CHECK(check_text(shares) < 500'000);
}

TEST_CASE("flat buffers of tensor-parallel slices over 4,096 ranks stay small", "[checkpoint]") {
  constexpr std::int64_t kSlices = 8, kKinds = 3;
  Shares shares(kManyRanks);
  for (std::int64_t slice = 0; slice < kSlices; ++slice)
    for (std::int64_t kind = 0; kind < kKinds; ++kind) {
      std::vector<TensorPiece> row;
      for (int i = 0; i < 300; ++i)
        row.push_back(box(numbered("kind", kind) + numbered("/", i), {1000 + i, 4096},
                          {0, slice * 512}, {1000 + i, 512}));
      cut_row(row, static_cast<std::size_t>(slice) * 512, kManyRanks / kSlices, shares);
    }
  const auto manifest = manifest_of(shares);
  CHECK(manifest.state.boxes().size() == kSlices * kKinds * 300);
  CHECK(manifest.state.segments().size() < 2 * kKinds * kManyRanks);
  CHECK(check_text(shares) < 1'200'000);
}

TEST_CASE("layers that are all cut alike over 4,096 ranks take one entry a rank", "[checkpoint]") {
  constexpr std::int64_t kLayers = 16;
  Shares shares(kManyRanks);
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    std::vector<TensorPiece> row;
    for (int i = 0; i < 12; ++i)
      row.push_back(TensorPiece::whole(numbered("layers.", layer) + numbered(".", i),
                                       TensorDtype::f32, {1000 + 500 * i, 64}));
    cut_row(row, 0, kManyRanks, shares);
  }
  CHECK(manifest_of(shares).state.segments().size() >= kLayers * kManyRanks);
  CHECK(check_text(shares) < 500'000);
}

TEST_CASE("segments of any lengths come back as they were", "[checkpoint]") {
  std::mt19937 random(1);
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  for (int trial = 0; trial < 500; ++trial) {
    CAPTURE(trial);
    const int tensors = draw(3, 12), ranks = draw(2, 4);
    Shares shares(static_cast<std::size_t>(ranks));
    for (int i = 0; i < tensors; ++i) {
      const auto tensor = TensorPiece::whole(numbered("t", i), TensorDtype::f32, {draw(1, 6)});
      for (std::int64_t at = 0, end = 0; at < tensor.end; at = end) {
        end = std::min<std::int64_t>(tensor.end, at + draw(1, 3));
        shares[static_cast<std::size_t>(draw(0, ranks - 1))].push_back(range(tensor, at, end));
      }
    }
    check_text(shares);
  }
}

TEST_CASE("boxes cover a tensor once, or it is told", "[checkpoint]") {
  const auto part = [](std::int64_t y, std::int64_t x, std::int64_t height, std::int64_t width) {
    return box("w", {3, 3}, {y, x}, {height, width});
  };
  // No cut goes through all boxes.
  CHECK(boxes_refused({part(0, 0, 1, 2), part(0, 2, 2, 1), part(2, 1, 1, 2), part(1, 0, 2, 1),
                       part(1, 1, 1, 1)}) == "");
  CHECK_THAT(boxes_refused({part(0, 0, 2, 3), part(1, 0, 1, 3)}), ContainsSubstring("overlap"));
  CHECK_THAT(boxes_refused({part(0, 0, 2, 3), part(1, 0, 2, 3)}), ContainsSubstring("overlap"));
  CHECK_THAT(boxes_refused({part(0, 0, 2, 3), part(2, 0, 1, 2)}),
             ContainsSubstring("only 8 of its 9 elements"));
  std::vector<TensorPiece> slices;
  for (std::int64_t i = 0; i < 20000; ++i) slices.push_back(box("w", {2, 20000}, {0, i}, {2, 1}));
  CHECK(boxes_refused(slices) == "");
  slices[700].offsets[1] = 2;
  slices[700].sizes = {1, 1};
  slices[700].end = 1;
  CHECK_THAT(boxes_refused(slices), ContainsSubstring("only 39999 of its 40000"));
}

TEST_CASE("segments that are damaged are told", "[checkpoint]") {
  const std::string tensors = R"([["a","F32",[4]],["b","U8",[8]]])";
  CHECK(refused(tensors, "[" + shard(24, "[[0,24]]") + "]") == "");
  CHECK(refused(tensors, "[" + shard(24, "[[16,8],[0,4,4,4]]") + "]") == "");
  const auto one = [&](std::int64_t bytes, const std::string& segments) {
    return refused(tensors, "[" + shard(bytes, segments) + "]");
  };
  CHECK_THAT(one(24, "[[0,16],[12,8]]"), ContainsSubstring("a: two pieces of it overlap"));
  CHECK_THAT(one(20, "[[0,20]]"), ContainsSubstring("b: only 4 of its 8 elements"));
  CHECK_THAT(one(24, "[[0,6],[6,18]]"),
             !ContainsSubstring("element"));  // one, cut in the list only
  CHECK_THAT(one(18, "[[6,18]]"), ContainsSubstring("a: a piece of it ends inside an element"));
  CHECK_THAT(one(23, "[[0,24]]"), ContainsSubstring("its pieces have other bytes"));
  for (const auto* beyond :
       {"[[0,25]]", "[[-1,24]]", "[[0,0]]", "[[0,-4]]", "[[24,1]]", "[[0,9223372036854775807]]",
        "[[9223372036854775807,24]]", "[[0,4,-4,2]]", "[[0,4,9223372036854775807,3]]"})
    CHECK_THAT(one(24, beyond), ContainsSubstring("rank-0: has bytes beyond the tensors"));
  CHECK_THAT(one(24, "[[0,18446744073709551615]]"), ContainsSubstring("too large"));
  CHECK_THAT(one(24, "[[0,1e300]]"), ContainsSubstring("too large"));
  CHECK_THAT(one(24, "[[0]]"), ContainsSubstring("out of range"));
  CHECK_THAT(one(24, "[[0,4,8,-1]]"), ContainsSubstring("negative number"));
  // A few bytes of text that request all memory.
  CHECK_THAT(one(24, "[[0,4,0,9223372036854775807]]"), ContainsSubstring("too many segments"));
  CHECK_THAT(refused(tensors, "[" + shard(24, "[[0,24]]") + "]", 2),
             ContainsSubstring("the number of shards differs from the number of ranks"));
}

TEST_CASE("tensors that are damaged are told", "[checkpoint]") {
  const auto all = [](const std::string& tensors) {
    return refused(tensors, "[" + shard(16, "[[0,16]]") + "]");
  };
  CHECK(all(R"([["a","F32",[4]]])") == "");
  CHECK_THAT(all(R"([["a","F32",[2]],["a","F32",[2]]])"), ContainsSubstring("a: a box of it"));
  CHECK_THAT(all(R"([["a","F32",[2]],["a","F32",[1,2]]])"),
             ContainsSubstring("a: was saved with the shapes [2] and [1, 2]"));
  CHECK_THAT(all(R"([["a","F32",[8],[0],[4]]])"), ContainsSubstring("only 4 of its 8"));
  CHECK_THAT(all(R"([["a","F32",[8],[5],[4]]])"), ContainsSubstring("beyond its shape [8]"));
  CHECK_THAT(all(R"([["a","F32",[4611686018427387904,4]]])"),
             ContainsSubstring("beyond all memory"));
  CHECK_THAT(all(R"([["a","F64",[500000000000000000]],["b","F64",[500000000000000000]]])"),
             ContainsSubstring("b: together with the tensors before it beyond all memory"));
  CHECK_THAT(all(R"([["a","F7",[4]]])"), ContainsSubstring("unknown type"));
  CHECK_THAT(all(R"([7])"), ContainsSubstring("type"));
}

TEST_CASE("numbers that are damaged are told, and those that are not finite are numbers",
          "[checkpoint]") {
  for (const auto* sound : {R"({"a":-1e300,"b":"inf","c":"-inf","d":"nan","e":"-nan"})", "{}"})
    CHECK(refused("[]", "[]", 0, sound).empty());
  for (const auto* bad : {R"({"a":"12 monkeys"})", R"({"a":""})", R"({"a":"0x10"})",
                          R"({"a":"1e999"})", R"({"a":[]})", R"({"a":null})"})
    CHECK_THAT(refused("[]", "[]", 0, bad), ContainsSubstring("not a number: "));
  CHECK_THAT(refused("[]", "[]", 0, "[1]"), ContainsSubstring("numbers without names"));
  CHECK_THAT(refused("[]", R"([{"bytes":0,"checksum":"what","data_begin":0,"segments":[]}])"),
             ContainsSubstring("invalid checksum"));
}

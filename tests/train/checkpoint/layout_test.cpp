#include "core/train/checkpoint/dtype.h"
#include "tests/place.h"
#include "tests/test.h"
#include "tests/train/checkpoint/made.h"

using namespace made;
using checkpoint::CheckpointReader;

namespace {

// Flat shards of one tensor over n ranks, as with ZeRO.
std::vector<TensorPiece> zero(const TensorPiece& of, int ranks) {
  std::vector<TensorPiece> out;
  const auto all = of.end - of.begin;
  for (int rank = 0; rank < ranks; ++rank)
    out.push_back(range(of, of.begin + all * rank / ranks, of.begin + all * (rank + 1) / ranks));
  return out;
}

// Slices along a dim, as with tensor parallelism.
std::vector<TensorPiece> tensor_parallel(const TensorPiece& of, std::size_t dim, int ranks) {
  std::vector<TensorPiece> out;
  const auto size = of.shape[dim] / ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    auto offsets = of.offsets;
    auto sizes = of.sizes;
    offsets[dim] = rank * size;
    sizes[dim] = size;
    out.push_back(box(of.name, of.shape, offsets, sizes));
  }
  return out;
}

std::vector<SavedState> shares(const std::vector<TensorPiece>& pieces) {
  std::vector<SavedState> out;
  for (const auto& piece : pieces) out.push_back({{saved(piece)}});
  return out;
}

// Saved in one layout, read in another: every element is in its place.
void check_layouts(const std::vector<TensorPiece>& written,
                   const std::vector<TensorPiece>& wanted) {
  const TestFolder place;
  REQUIRE(write_all(place.root(), at_step(1), shares(written)));
  const auto latest = checkpoint::open_latest(place.root());
  REQUIRE(latest.reader);
  for (const auto& piece : wanted) REQUIRE(read(*latest.reader, piece) == counted(piece, 0));
}

// Cuts a box in two along some dim, and these again; then into ranges.
void cut(const TensorPiece& piece, std::mt19937& random, std::vector<TensorPiece>& out) {
  const auto pick = [&](std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below)(random);
  };
  if (!piece.sizes.empty() && pick(2) > 0) {
    const auto dim =
        static_cast<std::size_t>(pick(static_cast<std::int64_t>(piece.sizes.size()) - 1));
    const auto first = pick(piece.sizes[dim]);
    if (first > 0 && first < piece.sizes[dim]) {
      auto left = piece.sizes, right = piece.sizes, offsets = piece.offsets;
      left[dim] = first;
      right[dim] -= first;
      cut(box(piece.name, piece.shape, offsets, left), random, out);
      offsets[dim] += first;
      cut(box(piece.name, piece.shape, offsets, right), random, out);
      return;
    }
  }
  for (const auto& part : zero(piece, static_cast<int>(1 + pick(2)))) out.push_back(part);
}

}  // namespace

TEST_CASE("ZeRO's flat shards go from 2 ranks to 4 and from 4 to 2", "[checkpoint]") {
  const auto whole = TensorPiece::whole("w", TensorDtype::f32, {5, 7});
  check_layouts(zero(whole, 2), zero(whole, 4));
  check_layouts(zero(whole, 4), zero(whole, 2));
  check_layouts(zero(whole, 3), {whole});
}

TEST_CASE("tensor-parallel slices come together and apart", "[checkpoint]") {
  const auto whole = TensorPiece::whole("w", TensorDtype::f32, {8, 12});
  for (const std::size_t dim : {0u, 1u}) {
    check_layouts(tensor_parallel(whole, dim, 2), {whole});
    check_layouts({whole}, tensor_parallel(whole, dim, 4));
    check_layouts(tensor_parallel(whole, dim, 4), tensor_parallel(whole, dim, 2));
    check_layouts(tensor_parallel(whole, dim, 2), tensor_parallel(whole, 1 - dim, 4));
  }
}

TEST_CASE("flat shards of tensor-parallel slices become any other layout", "[checkpoint]") {
  const auto whole = TensorPiece::whole("w", TensorDtype::f32, {8, 12});
  std::vector<TensorPiece> both;
  for (const auto& slice : tensor_parallel(whole, 1, 2))
    for (const auto& shard : zero(slice, 3)) both.push_back(shard);
  check_layouts(both, {whole});
  check_layouts(both, zero(whole, 5));
  check_layouts(tensor_parallel(whole, 0, 4), both);
}

TEST_CASE("any layout is read from any other", "[checkpoint]") {
  std::mt19937 random(7);
  const std::vector<std::vector<std::int64_t>> shapes{
      {}, {1}, {13}, {4, 1}, {6, 5}, {3, 4, 5}, {2, 3, 1, 4}, {0}, {3, 0}, {1, 9}};
  for (int round = 0; round < 12; ++round) {
    std::vector<SavedState> ranks(3);
    std::vector<TensorPiece> wanted;
    for (std::size_t i = 0; i < 2 * shapes.size(); ++i) {
      const auto whole =
          TensorPiece::whole("t" + std::to_string(i), TensorDtype::f32, shapes[i / 2]);
      std::vector<TensorPiece> written;
      cut(whole, random, written);
      for (const auto& piece : written) ranks[random() % 3].pieces.push_back(saved(piece));
      cut(whole, random, wanted);
    }
    const TestFolder place;
    REQUIRE(write_all(place.root(), at_step(1), ranks));
    const auto latest = checkpoint::open_latest(place.root());
    REQUIRE(latest.skipped.empty());
    for (const auto& piece : wanted) REQUIRE(read(*latest.reader, piece) == counted(piece, 0));
  }
}

TEST_CASE("a large tensor is read in parts that are larger than any buffer", "[checkpoint]") {
  const auto whole = TensorPiece::whole("w", TensorDtype::f32, {1300, 1000});
  check_layouts(tensor_parallel(whole, 1, 2), {range(whole, 17, 1299999)});
}

TEST_CASE("floating types become one another on the way", "[checkpoint]") {
  const TestFolder place;
  const auto whole = TensorPiece::whole("w", TensorDtype::bf16, {3});
  const std::vector<std::uint16_t> bf16{0x3f80, 0xc000, 0x3eab};  // 1, -2, 0.333984375
  REQUIRE(write_all(place.root(), at_step(1), {{{{whole, bytes(bf16)}}}}));
  const auto latest = checkpoint::open_latest(place.root());
  CHECK(read(*latest.reader, TensorPiece::whole("w", TensorDtype::f32, {3})) ==
        std::vector<float>{1, -2, 0.333984375f});
  std::vector<std::byte> to(24);
  REQUIRE(latest.reader->read(TensorPiece::whole("w", TensorDtype::f64, {3}), to));
  CHECK(values<double>(to) == std::vector<double>{1, -2, 0.333984375});
  const auto status = latest.reader->read(TensorPiece::whole("w", TensorDtype::i64, {3}), to);
  CHECK_THAT(text(status.error()), ContainsSubstring("saved as BF16, wanted as I64"));
}

TEST_CASE("a tensor that is not there or has another shape is named", "[checkpoint]") {
  const TestFolder place;
  REQUIRE(write_all(place.root(), at_step(1), {simple(1)}));
  const auto latest = checkpoint::open_latest(place.root());
  std::vector<std::byte> to(400);
  CHECK_THAT(
      text(latest.reader->read(TensorPiece::whole("v", TensorDtype::f32, {100}), to).error()),
      ContainsSubstring("v: not in this checkpoint"));
  CHECK_THAT(
      text(latest.reader->read(TensorPiece::whole("weights/w", TensorDtype::f32, {10, 10}), to)
               .error()),
      ContainsSubstring("weights/w: saved as [100], wanted as [10, 10]"));
}

TEST_CASE("pieces that overlap, leave gaps or differ in shape make no checkpoint", "[checkpoint]") {
  const auto whole = TensorPiece::whole("w", TensorDtype::f32, {4, 4});
  const auto left = box("w", {4, 4}, {0, 0}, {4, 2}), right = box("w", {4, 4}, {0, 2}, {4, 2});
  const auto reason = [](const std::vector<TensorPiece>& pieces) {
    const TestFolder place;
    const auto status = write_all(place.root(), at_step(1), shares(pieces));
    REQUIRE_FALSE(status);
    CHECK(fs::is_empty(place.root()));
    return text(status.error());
  };
  CHECK_THAT(reason({range(whole, 0, 9), range(whole, 8, 16)}), ContainsSubstring("overlap"));
  CHECK_THAT(reason({left, range(whole, 0, 3)}), ContainsSubstring("overlap"));
  CHECK_THAT(reason({range(whole, 0, 7), range(whole, 8, 16)}),
             ContainsSubstring("only 15 of its 16 elements"));
  CHECK_THAT(reason({left, range(right, 0, 7)}), ContainsSubstring("only 15 of its 16 elements"));
  CHECK_THAT(reason({left, TensorPiece::whole("w", TensorDtype::f32, {4, 2})}),
             ContainsSubstring("the shapes [4, 4] and [4, 2]"));
}

#include "core/train/checkpoint/dtype.h"

#include "tests/test.h"
#include "tests/train/checkpoint/made.h"

using namespace orch::checkpoint;

namespace {

template <class To, class From>
std::vector<To> converted(TensorDtype from_type, TensorDtype to_type,
                          const std::vector<From>& from) {
  std::vector<std::byte> to(from.size() * sizeof(To));
  convert(from_type, made::bytes(from), to_type, to);
  return made::values<To>(to);
}

std::uint16_t half(float value) {
  return converted<std::uint16_t>(TensorDtype::f32, TensorDtype::f16, std::vector{value})[0];
}
std::uint16_t brain(float value) {
  return converted<std::uint16_t>(TensorDtype::f32, TensorDtype::bf16, std::vector{value})[0];
}

}  // namespace

TEST_CASE("halves are IEEE 754's, rounded to nearest even", "[checkpoint]") {
  CHECK(half(1.0f) == 0x3c00);
  CHECK(half(-2.0f) == 0xc000);
  CHECK(half(1.0f / 3) == 0x3555);
  CHECK(half(65504) == 0x7bff);  // the largest
  CHECK(half(65519.99f) == 0x7bff);
  CHECK(half(65520) == 0x7c00);                // halfway to 65536: infinite
  CHECK(half(0x1p-14f) == 0x0400);             // the smallest normal one
  CHECK(half(0x1p-24f) == 0x0001);             // the smallest of all
  CHECK(half(0x1p-25f) == 0x0000);             // halfway, to even
  CHECK(half(1.5f * 0x1p-24f) == 0x0002);      // halfway, to even
  CHECK(half(1.0f + 0x1p-11f) == 0x3c00);      // halfway, to even
  CHECK(half(1.0f + 3 * 0x1p-11f) == 0x3c02);  // halfway, to even
  CHECK(half(-0.0f) == 0x8000);
  CHECK(half(std::numeric_limits<float>::infinity()) == 0x7c00);
  CHECK((half(std::nanf("")) & 0x7fff) > 0x7c00);
}

TEST_CASE("bf16 is the upper half of a float, rounded to nearest even", "[checkpoint]") {
  CHECK(brain(1.0f) == 0x3f80);
  CHECK(brain(1.0f + 0x1p-8f) == 0x3f80);      // halfway, to even
  CHECK(brain(1.0f + 3 * 0x1p-8f) == 0x3f82);  // halfway, to even
  CHECK(brain(-3.140625f) == 0xc049);
  CHECK(brain(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK((brain(std::nanf("")) & 0x7fff) > 0x7f80);
}

TEST_CASE("every 16-bit number survives the way through float and double", "[checkpoint]") {
  std::vector<std::uint16_t> all;
  for (int bits = 0; bits < 65536; ++bits) all.push_back(static_cast<std::uint16_t>(bits));
  for (const auto small : {TensorDtype::f16, TensorDtype::bf16}) {
    const auto floats = converted<float>(small, TensorDtype::f32, all);
    const auto doubles = converted<double>(small, TensorDtype::f64, all);
    const auto from_floats = converted<std::uint16_t>(TensorDtype::f32, small, floats);
    const auto from_doubles = converted<std::uint16_t>(TensorDtype::f64, small, doubles);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(floats[i])) continue;
      REQUIRE(from_floats[i] == all[i]);
      REQUIRE(from_doubles[i] == all[i]);
      REQUIRE(static_cast<double>(floats[i]) == doubles[i]);
    }
  }
  CHECK(converted<float>(TensorDtype::f16, TensorDtype::f32,
                         std::vector<std::uint16_t>{0x83ff})[0] == -1023 * 0x1p-24f);
}

TEST_CASE("a double is rounded once on its way to 16 bits", "[checkpoint]") {
  // Just above halfway between 1 and the next bf16; as a float it is halfway, which goes to even.
  const std::vector<double> above{1 + 0x1p-8 + 0x1p-40, -(1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-8};
  CHECK(converted<std::uint16_t>(TensorDtype::f64, TensorDtype::bf16, above) ==
        std::vector<std::uint16_t>{0x3f81, 0xbf81, 0x3f80});
  // The same for halves; just below halfway stays below.
  const std::vector<double> near{1 + 0x1p-11 + 0x1p-40, 1 + 3 * 0x1p-11 - 0x1p-40, 1e300};
  CHECK(converted<std::uint16_t>(TensorDtype::f64, TensorDtype::f16, near) ==
        std::vector<std::uint16_t>{0x3c01, 0x3c01, 0x7c00});
}

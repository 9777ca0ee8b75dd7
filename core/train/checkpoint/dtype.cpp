#include "core/train/checkpoint/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace orch::checkpoint {
namespace {

struct KnownDtype {
  TensorDtype dtype;
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<KnownDtype, 6> kKnown{{{TensorDtype::f32, "F32", 4},
                                            {TensorDtype::f16, "F16", 2},
                                            {TensorDtype::bf16, "BF16", 2},
                                            {TensorDtype::f64, "F64", 8},
                                            {TensorDtype::i64, "I64", 8},
                                            {TensorDtype::u8, "U8", 1}}};

const KnownDtype& known(TensorDtype dtype) { return kKnown.at(static_cast<std::size_t>(dtype)); }

struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};

float widen(float value) { return value; }
float widen(BFloat16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16); }
float widen(Float16 value) {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000u} << 16, low = value.bits & 0x7fffu;
  if (low >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000u | low << 13);  // inf, NaN
  if (low < 0x400) return std::copysign(static_cast<float>(low) * 0x1p-24f, sign ? -1.0f : 1.0f);
  return std::bit_cast<float>(sign | (low + ((127 - 15) << 10)) << 13);
}

void narrow(float value, float& to) { to = value; }

void narrow(float value, BFloat16& to) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    to.bits = static_cast<std::uint16_t>(bits >> 16 | 0x40);  // quiet: the payload may be truncated
    return;
  }
  to.bits = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void narrow(float value, Float16& to) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t low = bits & 0x7fffffff;
  std::uint32_t half = 0;
  if (low > 0x7f800000)
    half = 0x7e00 | (low >> 13 & 0x3ff);  // NaN
  else if (low >= 0x477ff000)
    half = 0x7c00;  // rounds to 65536 or more
  else if (low >= 0x38800000)
    half = (low - 0x38000000 + 0xfff + (low >> 13 & 1)) >> 13;
  else  // subnormal: after adding 0.5, the rounding of float cuts at 2^-24
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(low) + 0.5f) - 0x3f000000;
  to.bits = static_cast<std::uint16_t>(sign | half);
}

// To float by rounding to odd: the last bit records that something was cut off, so that a second
// rounding is right.
float to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

void narrow(double value, double& to) { to = value; }
void narrow(double value, float& to) { to = static_cast<float>(value); }
template <class Small>
void narrow(double value, Small& to) {
  narrow(to_odd(value), to);
}
void narrow(float value, double& to) { to = value; }
double widen(double value) { return value; }

template <class From, class To>
void convert_all(std::span<const std::byte> from, std::span<std::byte> to) {
  for (std::size_t i = 0; i < to.size() / sizeof(To); ++i) {
    From in;
    To out;
    std::memcpy(&in, from.data() + i * sizeof(From), sizeof in);
    narrow(widen(in), out);
    std::memcpy(to.data() + i * sizeof(To), &out, sizeof out);
  }
}

template <class From>
void convert_from(std::span<const std::byte> from, TensorDtype to_type, std::span<std::byte> to) {
  if (to_type == TensorDtype::f32) convert_all<From, float>(from, to);
  if (to_type == TensorDtype::f16) convert_all<From, Float16>(from, to);
  if (to_type == TensorDtype::bf16) convert_all<From, BFloat16>(from, to);
  if (to_type == TensorDtype::f64) convert_all<From, double>(from, to);
}

}  // namespace

std::size_t bytes_of(TensorDtype dtype) { return known(dtype).bytes; }
std::string_view name(TensorDtype dtype) { return known(dtype).name; }

std::optional<TensorDtype> parse_dtype(std::string_view name) {
  for (const auto& one : kKnown)
    if (one.name == name) return one.dtype;
  return std::nullopt;
}

bool is_floating(TensorDtype dtype) {
  return dtype != TensorDtype::i64 && dtype != TensorDtype::u8;
}

bool is_convertible(TensorDtype from, TensorDtype to) {
  return from == to || (is_floating(from) && is_floating(to));
}

void convert(TensorDtype from_type, std::span<const std::byte> from, TensorDtype to_type,
             std::span<std::byte> to) {
  ORCH_CHECK(is_convertible(from_type, to_type), "only floating types become one another");
  ORCH_CHECK(from.size() / bytes_of(from_type) >= to.size() / bytes_of(to_type),
             "too few to convert");
  if (from_type == to_type) {
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
    return;
  }
  if (from_type == TensorDtype::f32) convert_from<float>(from, to_type, to);
  if (from_type == TensorDtype::f16) convert_from<Float16>(from, to_type, to);
  if (from_type == TensorDtype::bf16) convert_from<BFloat16>(from, to_type, to);
  if (from_type == TensorDtype::f64) convert_from<double>(from, to_type, to);
}

}  // namespace orch::checkpoint

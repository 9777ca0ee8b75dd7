#include "backends/runtime/loop/tensorboard.h"

#include <fmt/format.h>

#include <array>
#include <bit>

#include "backends/runtime/host/failure.h"
#include "core/base/clock.h"
#include "core/base/room.h"

namespace orch::train {
namespace {

constexpr auto kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    table[byte] = crc;
  }
  return table;
}();

// TFRecord stores checksums rotated and offset, so that a record within a record is not misread.
std::uint32_t masked_crc(std::string_view data) {
  return std::rotr(crc32c(data), 15) + 0xa282ead8u;
}

template <class T>
void put_little_endian(std::string& to, T number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    to.push_back(static_cast<char>((number >> (8 * i)) & 0xff));
}

// Protobuf encoding: a field is its number and wire type, then the value.
void put_varint(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to.push_back(static_cast<char>(0x80 | (number & 0x7f)));
  to.push_back(static_cast<char>(number));
}
void put_integer(std::string& to, unsigned field, std::uint64_t number) {
  put_varint(to, field << 3);
  put_varint(to, number);
}
void put_double(std::string& to, unsigned field, double number) {
  put_varint(to, field << 3 | 1);
  put_little_endian(to, std::bit_cast<std::uint64_t>(number));
}
void put_float(std::string& to, unsigned field, float number) {
  put_varint(to, field << 3 | 5);
  put_little_endian(to, std::bit_cast<std::uint32_t>(number));
}
void put_text(std::string& to, unsigned field, std::string_view text) {  // also for messages
  put_varint(to, field << 3 | 2);
  put_varint(to, text.size());
  to.append(text);
}

}  // namespace

std::uint32_t crc32c(std::string_view data) {
  std::uint32_t crc = ~0u;
  for (const char c : data) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

TensorBoard::TensorBoard(const fs::path& attempt) {
  const auto folder = attempt / "tensorboard";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw ClassifiedFailure("disk", file_error(folder, "create", error.value()).text());
  file_ = std::make_unique<AppendFile>(folder / fmt::format("events.out.tfevents.{:010.0f}.{}.orch",
                                                            SystemClock().now(), host_name()));
  std::string event;  // the first event names the format
  put_double(event, 1, SystemClock().now());
  put_text(event, 3, "brain.Event:2");
  write(event);
}

void TensorBoard::scalars(std::int64_t step,
                          const std::vector<std::pair<std::string, double>>& values) {
  std::string summary;
  for (const auto& [tag, number] : values) {
    std::string value;
    put_text(value, 1, tag);
    put_float(value, 2, static_cast<float>(number));
    put_text(summary, 1, value);
  }
  std::string event;
  put_double(event, 1, SystemClock().now());
  put_integer(event, 2, static_cast<std::uint64_t>(step));
  put_text(event, 5, summary);
  write(event);
}

// TFRecord: length, its checksum, data, its checksum. A reader stops at a broken record, so after
// an incomplete one nothing more is written.
void TensorBoard::write(const std::string& event) {
  if (!file_) return;
  std::string record;
  put_little_endian(record, std::uint64_t{event.size()});
  put_little_endian(record, masked_crc(record));
  record += event;
  put_little_endian(record, masked_crc(event));
  if (!file_->write(record)) file_.reset();
}

}  // namespace orch::train

#include "core/train/checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/train/checkpoint/dtype.h"
#include "core/train/checkpoint/pieces.h"

namespace orch::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kLargestHeader = 100'000'000;  // the limit of safetensors' own library

// Bytes after which the disk starts writing while we continue; otherwise the last sync would wait
// for everything.
constexpr std::uint64_t kFlush = std::uint64_t{32} << 20;
constexpr std::size_t kWindow = std::size_t{1} << 20;

bool has_no_room(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

Error broken(const fs::path& path, const std::string& fact) {
  return {printable(path.string()), "is not a complete safetensors file: " + fact,
          "download it again"};
}

// Throws nlohmann's exceptions if a member has another type.
TensorEntry entry(const std::string& name, const Json& json) {
  const auto& offsets = json.at("data_offsets");
  return {name, json.at("dtype").get<std::string>(),
          json.at("shape").get<std::vector<std::int64_t>>(), offsets.at(0).get<std::uint64_t>(),
          offsets.at(1).get<std::uint64_t>()};
}

Status check_entry(const fs::path& path, const TensorEntry& tensor, std::uint64_t bytes) {
  if (tensor.begin > tensor.end || tensor.end > bytes)
    return broken(path, printable(tensor.name) + " lies beyond its end");
  const auto dtype = parse_dtype(tensor.dtype);
  if (!dtype) return {};
  const auto whole = TensorPiece::whole(tensor.name, *dtype, tensor.shape);
  if (auto status = check_piece(whole); !status) return status;
  if (tensor.end - tensor.begin != static_cast<std::uint64_t>(whole.end) * bytes_of(*dtype))
    return broken(path, printable(tensor.name) + " has other bytes than its shape " +
                            shape_text(tensor.shape));
  return {};
}

Result<SafetensorsHeader> parse(const fs::path& path, const std::string& text,
                                std::uint64_t data_bytes) {
  SafetensorsHeader header;
  try {
    const auto json = parse_json<Json>(text);
    if (!json.is_object()) return broken(path, "invalid header");
    for (const auto& [name, tensor] : json.items()) {
      if (name == "__metadata__") continue;
      header.tensors.push_back(entry(name, tensor));
      if (auto status = check_entry(path, header.tensors.back(), data_bytes); !status)
        return status.error();
    }
  } catch (const nlohmann::json::exception&) {
    return broken(path, "invalid header");
  }
  return header;
}

}  // namespace

Result<SafetensorsHeader> read_safetensors_header(const fs::path& path) {
  auto file = ShardReader::open(path);
  if (!file) return file.error();
  std::uint64_t length = 0;
  if (file->bytes() < sizeof length) return broken(path, "it is too short");
  if (auto status = file->read(0, std::as_writable_bytes(std::span(&length, 1))); !status)
    return status.error();
  if (length > kLargestHeader || length > file->bytes() - sizeof length)
    return broken(path, "its header is longer than the file");
  std::string text(length, ' ');
  if (auto status = file->read(sizeof length, std::as_writable_bytes(std::span(text))); !status)
    return status.error();
  auto header = parse(path, text, file->bytes() - sizeof length - length);
  if (header) header->data_begin = sizeof length + length;
  return header;
}

std::string safetensors_header(std::span<const TensorEntry> tensors,
                               const std::map<std::string, std::string>& metadata) {
  Json json;
  if (!metadata.empty()) json["__metadata__"] = metadata;
  for (const auto& tensor : tensors)
    json[tensor.name] = {{"dtype", tensor.dtype},
                         {"shape", tensor.shape},
                         {"data_offsets", {tensor.begin, tensor.end}}};
  auto text = json.is_null() ? std::string("{}") : json.dump();
  text.append((64 - (text.size() + 8) % 64) % 64, ' ');  // aligns tensors when the file is mapped
  const std::uint64_t length = text.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + text;
}

Result<ShardWriter> ShardWriter::create(const fs::path& path, std::uint64_t bytes) {
  auto draft = DraftFile::create(path, DraftFile::Name::fixed);
  if (!draft) return draft.error();
  if (bytes > 0 && ::fallocate(draft->descriptor(), 0, 0, static_cast<off_t>(bytes)) != 0 &&
      has_no_room(errno))
    return file_error(path, "cannot write", errno);
  return ShardWriter(std::move(*draft));
}

Status ShardWriter::append(std::span<const std::byte> data) {
  while (!data.empty()) {
    const auto chunk = data.first(std::min(kChunk, data.size()));
    sum_.add(chunk);
    if (auto status = draft_.append(chunk.data(), chunk.size()); !status) return status;
    written_ += chunk.size();
    data = data.subspan(chunk.size());
    if (written_ - asked_to_disk_ < kFlush) continue;
    ::sync_file_range(draft_.descriptor(), static_cast<off_t>(asked_to_disk_),
                      static_cast<off_t>(written_ - asked_to_disk_), SYNC_FILE_RANGE_WRITE);
    asked_to_disk_ = written_;
  }
  return {};
}

Status ShardWriter::finish() {
  if (auto status = draft_.sync(); !status) return status;
  return draft_.publish();
}

Result<ShardReader> ShardReader::open(const fs::path& path) {
  ShardReader reader(path, Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  if (!reader.file_.is_open()) return file_error(path, "cannot open", errno);
  struct stat facts {};
  if (::fstat(reader.file_.get(), &facts) != 0) return file_error(path, "cannot read", errno);
  if (!S_ISREG(facts.st_mode)) return Error{printable(path.string()), "not a file", ""};
  reader.bytes_ = static_cast<std::uint64_t>(facts.st_size);
  return reader;
}

Status ShardReader::fetch(std::uint64_t at, std::span<std::byte> to) const {
  const auto got = read_at(file_.get(), at, to.data(), to.size());
  if (got < 0) return file_error(path_, "cannot read", errno);
  if (static_cast<std::size_t>(got) < to.size())
    return Error{printable(path_.string()), "is truncated", "download it again"};
  return {};
}

Status ShardReader::read(std::uint64_t at, std::span<std::byte> to) {
  if (to.size() >= kWindow / 4) return fetch(at, to);
  if (at < window_at_ || at + to.size() > window_at_ + window_.size()) {
    const auto left = at < bytes_ ? bytes_ - at : 0;
    window_.resize(
        std::max(to.size(), static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, left))));
    window_at_ = at;
    if (auto status = fetch(at, window_); !status) {
      window_.clear();
      return status;
    }
  }
  if (!to.empty()) std::memcpy(to.data(), window_.data() + (at - window_at_), to.size());
  return {};
}

}  // namespace orch::checkpoint

#include "core/train/checkpoint/manifest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/train/checkpoint/checksum.h"
#include "core/train/checkpoint/dtype.h"
#include "core/train/checkpoint/pieces.h"

namespace orch::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;
constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view kSeal = ",\"sum\":\"";

// Adds a last member, the checksum of all text before it.
std::string sealed(const Json& json) {
  auto text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();
  return text + std::string(kSeal) + hex(checksum(text)) + "\"}\n";
}

Result<Json> unsealed(const std::string& text, const std::string& place) {
  const Error torn{printable(place), "is truncated or was changed", "use an older checkpoint"};
  const auto at = text.rfind(kSeal);
  if (at == std::string::npos || !text.ends_with("\"}\n")) return torn;
  const auto digits = at + kSeal.size();
  const auto sum = parse_hex(std::string_view(text).substr(digits, text.size() - 3 - digits));
  if (!sum || *sum != checksum(std::string_view(text).substr(0, at))) return torn;
  auto json = parse_json<Json>(text);
  if (!json.is_object()) return torn;
  if (json.value("version", Json()) != kVersion)
    return Error{printable(place), "was written by another version of orch",
                 "use that version of orch"};
  return json;
}

// Checked, because the conversion of a number that does not fit is undefined.
std::int64_t integer(const Json& json) {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && json.get<std::uint64_t>() > kLargest))
    throw std::runtime_error("not an integer, or too large: " + json.dump());
  return json.get<std::int64_t>();
}

std::uint64_t natural(const Json& json) {
  const auto number = integer(json);
  if (number < 0) throw std::runtime_error("negative number: " + json.dump());
  return static_cast<std::uint64_t>(number);
}

std::vector<std::int64_t> integers(const Json& json) {
  std::vector<std::int64_t> numbers;
  for (const auto& number : json) numbers.push_back(integer(number));
  return numbers;
}

void demand(const Status& status) {
  if (!status) throw std::runtime_error(text(status.error()));
}

// An array, because there may be a hundred thousand of them.
Json piece_json(const TensorPiece& p) {
  return {p.name, name(p.dtype), p.shape, p.offsets, p.sizes, p.begin, p.end};
}

Json box_json(const TensorPiece& box) {
  if (box.sizes == box.shape) return {box.name, name(box.dtype), box.shape};
  return {box.name, name(box.dtype), box.shape, box.offsets, box.sizes};
}

// A piece, a box, or a whole tensor: missing entries mean "all of it".
TensorPiece parse_piece(const Json& json) {
  const auto dtype = parse_dtype(json.at(1).get<std::string>());
  if (!dtype) throw std::runtime_error("unknown type");
  auto piece = TensorPiece::whole(json.at(0).get<std::string>(), *dtype, integers(json.at(2)));
  if (json.size() > 3) {
    piece.offsets = integers(json.at(3));
    piece.sizes = integers(json.at(4));
    piece.end = count(piece.sizes);
  }
  if (json.size() > 5) {
    piece.begin = integer(json.at(5));
    piece.end = integer(json.at(6));
  }
  demand(check_piece(piece));
  return piece;
}

// `what` is the name of its content: pieces or segments.
Json shard_json(const Shard& shard, const char* what, Json held) {
  return {{"bytes", shard.bytes},
          {"checksum", hex(shard.checksum)},
          {"data_begin", shard.data_begin},
          {what, std::move(held)}};
}

Shard parse_shard(const Json& json) {
  Shard shard;
  shard.bytes = natural(json.at("bytes"));
  const auto sum = parse_hex(json.at("checksum").get<std::string>());
  if (!sum) throw std::runtime_error("invalid checksum: " + json.at("checksum").dump());
  shard.checksum = *sum;
  shard.data_begin = natural(json.at("data_begin"));
  return shard;
}

Json pieces_json(std::span<const TensorPiece> pieces) {
  Json json = Json::array();
  for (const auto& piece : pieces) json.push_back(piece_json(piece));
  return json;
}

std::vector<TensorPiece> parse_pieces(const Json& json) {
  std::vector<TensorPiece> pieces;
  for (const auto& piece : json) pieces.push_back(parse_piece(piece));
  return pieces;
}

// The number of leading segments with equal length and stride, which a single row can represent; 1
// if the row would be no shorter than the segments.
std::size_t equal_steps(std::span<const ShardSegment> segments) {
  const auto continues = [&](std::size_t i) {
    const auto &first = segments[0], &before = segments[i - 1], &next = segments[i];
    return next.end - next.begin == first.end - first.begin &&
           next.begin - before.begin == segments[1].begin - first.begin;
  };
  std::size_t count = 1;
  while (count < segments.size() && continues(count)) ++count;
  return count > 2 ? count : 1;
}

Json segments_json(std::span<const ShardSegment> segments) {
  Json json = Json::array();
  while (!segments.empty()) {
    const auto& first = segments[0];
    const auto count = equal_steps(segments);
    Json one = {first.begin, first.end - first.begin};
    if (count > 1) {
      one.push_back(segments[1].begin - first.begin);
      one.push_back(count);
    }
    json.push_back(std::move(one));
    segments = segments.subspan(count);
  }
  return json;
}

SegmentRow parse_row(const Json& json) {
  SegmentRow row{integer(json.at(0)), integer(json.at(1))};
  if (json.size() > 2) {
    row.stride = integer(json.at(2));
    row.count = natural(json.at(3));
  }
  return row;
}

// JSON cannot represent infinity and NaN.
Json numbers_json(const std::map<std::string, double>& numbers) {
  Json json = Json::object();
  for (const auto& [name, number] : numbers)
    json[name] = std::isfinite(number) ? Json(number) : Json(std::to_string(number));
  return json;
}

double parse_number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  for (const double number : {std::numeric_limits<double>::infinity(), std::nan("")})
    for (const double signed_number : {number, -number})
      if (json == std::to_string(signed_number)) return signed_number;
  throw std::runtime_error("not a number: " + json.dump());
}

std::map<std::string, double> parse_numbers(const Json& json) {
  if (!json.is_object()) throw std::runtime_error("numbers without names: " + json.dump());
  std::map<std::string, double> numbers;
  for (const auto& [name, number] : json.items()) numbers[name] = parse_number(number);
  return numbers;
}

CheckpointFacts parse_facts(const Json& json) {
  CheckpointFacts facts;
  facts.step = integer(json.at("step"));
  facts.consumed_samples = integer(json.at("consumed_samples"));
  facts.seed = integer(json.at("seed"));
  const auto ranks = natural(json.at("ranks"));
  if (ranks != json.at("shards").size())
    throw std::runtime_error("the number of shards differs from the number of ranks");
  facts.ranks = static_cast<int>(ranks);
  facts.numbers = parse_numbers(json.at("numbers"));
  facts.texts = json.at("texts").get<std::map<std::string, std::string>>();
  return facts;
}

// The checksum is right, but the content may still be invalid.
template <class Parse>
auto parsed(const std::string& text, const std::string& place, Parse parse)
    -> Result<decltype(parse(Json()))> {
  const auto json = unsealed(text, place);
  if (!json) return json.error();
  try {
    return parse(*json);
  } catch (const std::exception& error) {
    return Error{printable(place), printable(error.what()), "use an older checkpoint"};
  }
}

// Reads the members of checkpoint.json about the state.
void parse_state(const Json& json, Manifest& manifest) {
  for (const auto& box : json.at("tensors")) demand(manifest.state.add_box(parse_piece(box)));
  for (const auto& shard : json.at("shards")) {
    for (const auto& row : shard.at("segments"))
      demand(manifest.state.add_segments(manifest.shards.size(), parse_row(row)));
    manifest.shards.push_back(parse_shard(shard));
  }
}

// Each file must be as long as its header and its content.
void check_bytes(const Manifest& manifest) {
  std::vector<std::uint64_t> bytes;
  for (const auto& shard : manifest.shards) bytes.push_back(shard.data_begin);
  for (const auto& segment : manifest.state.segments())
    bytes[segment.rank] += static_cast<std::uint64_t>(segment.end - segment.begin);
  for (std::size_t rank = 0; rank < bytes.size(); ++rank)
    if (bytes[rank] != manifest.shards[rank].bytes)
      throw std::runtime_error(shard_name(rank) + ": its pieces have other bytes");
}

}  // namespace

std::string shard_name(std::size_t rank) { return "rank-" + std::to_string(rank) + ".safetensors"; }

Status Manifest::add(const Shard& shard, std::span<const TensorPiece> pieces) {
  for (const auto& piece : pieces)
    if (auto status = state.add(shards.size(), piece); !status) return status;
  shards.push_back(shard);
  return {};
}

std::string rank_json(const RankNote& note) {
  return sealed({{"version", kVersion},
                 {"attempt", note.attempt},
                 {"step", note.step},
                 {"rank", note.rank},
                 {"shard", shard_json(note.shard, "pieces", pieces_json(note.pieces))}});
}

Result<RankNote> parse_rank_json(const std::string& text, const std::string& place) {
  return parsed(text, place, [](const Json& json) {
    const auto& shard = json.at("shard");
    return RankNote{json.at("attempt"), integer(json.at("step")), natural(json.at("rank")),
                    parse_shard(shard), parse_pieces(shard.at("pieces"))};
  });
}

std::string checkpoint_json(const Manifest& manifest) {
  const auto& facts = manifest.facts;
  Json tensors = Json::array(), shards = Json::array();
  for (const auto& box : manifest.state.boxes()) tensors.push_back(box_json(box.piece));
  std::span<const ShardSegment> left = manifest.state.segments();
  for (std::size_t rank = 0; rank < manifest.shards.size(); ++rank) {
    const auto other = std::find_if(left.begin(), left.end(), [&](const ShardSegment& segment) {
      return segment.rank != rank;
    });
    const auto its = left.first(static_cast<std::size_t>(other - left.begin()));
    shards.push_back(shard_json(manifest.shards[rank], "segments", segments_json(its)));
    left = left.subspan(its.size());
  }
  return sealed({{"version", kVersion},
                 {"step", facts.step},
                 {"consumed_samples", facts.consumed_samples},
                 {"seed", facts.seed},
                 {"ranks", facts.ranks},
                 {"numbers", numbers_json(facts.numbers)},
                 {"texts", Json(facts.texts)},
                 {"tensors", std::move(tensors)},
                 {"shards", std::move(shards)}});
}

Result<Manifest> parse_checkpoint_json(const std::string& text, const std::string& place) {
  return parsed(text, place, [](const Json& json) {
    Manifest manifest;
    manifest.facts = parse_facts(json);
    parse_state(json, manifest);
    check_bytes(manifest);
    return manifest;
  });
}

}  // namespace orch::checkpoint

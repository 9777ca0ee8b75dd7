#include "core/checkpoint/manifest.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/text.h"
#include "core/checkpoint/checksum.h"
#include "core/checkpoint/dtype.h"
#include "core/checkpoint/pieces.h"

namespace orch::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;
constexpr std::string_view kSeal = ",\"sum\":\"";

// The object's last member is the checksum of all before it.
std::string sealed(const Json& json) {
  auto text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();
  return text + std::string(kSeal) + hex(checksum(text)) + "\"}\n";
}

Result<Json> unsealed(const std::string& text, const std::string& place) {
  const Error torn{printable(place), "is torn or was changed", "use an older checkpoint"};
  const auto at = text.rfind(kSeal);
  if (at == std::string::npos || !text.ends_with("\"}\n")) return torn;
  const auto digits = at + kSeal.size();
  const auto sum = parse_hex(std::string_view(text).substr(digits, text.size() - 3 - digits));
  if (!sum || *sum != checksum(std::string_view(text).substr(0, at))) return torn;
  auto json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return torn;
  if (json.value("version", 0) != kVersion)
    return Error{printable(place), "is of another version of orch", "use the orch that wrote it"};
  return json;
}

// Arrays, as there may be a hundred thousand of them.
Json piece_json(const Piece& p) {
  return {p.name, name(p.dtype), p.shape, p.offsets, p.sizes, p.begin, p.end};
}

Piece parse_piece(const Json& json) {
  Piece piece;
  piece.name = json.at(0);
  const auto dtype = parse_dtype(json.at(1).get<std::string>());
  if (!dtype) throw std::runtime_error("a type that this orch does not know");
  piece.dtype = *dtype;
  piece.shape = json.at(2).get<std::vector<std::int64_t>>();
  piece.offsets = json.at(3).get<std::vector<std::int64_t>>();
  piece.sizes = json.at(4).get<std::vector<std::int64_t>>();
  piece.begin = json.at(5);
  piece.end = json.at(6);
  return piece;
}

Json shard_json(const Shard& shard) {
  Json pieces = Json::array();
  for (const auto& piece : shard.pieces) pieces.push_back(piece_json(piece));
  return {{"file", shard.file},
          {"bytes", shard.bytes},
          {"checksum", hex(shard.checksum)},
          {"data_begin", shard.data_begin},
          {"pieces", pieces}};
}

Shard parse_shard(const Json& json) {
  Shard shard;
  shard.file = json.at("file");
  if (!is_plain_name(shard.file)) throw std::runtime_error("a shard outside of its folder");
  shard.bytes = json.at("bytes");
  shard.checksum = parse_hex(json.at("checksum").get<std::string>()).value();
  shard.data_begin = json.at("data_begin");
  auto end = shard.data_begin;
  for (const auto& piece : json.at("pieces")) {
    shard.pieces.push_back(parse_piece(piece));
    if (auto status = check_piece(shard.pieces.back()); !status)
      throw std::runtime_error(text(status.error()));
    end += static_cast<std::uint64_t>(elements(shard.pieces.back())) *
           bytes_of(shard.pieces.back().dtype);
  }
  if (end != shard.bytes) throw std::runtime_error(shard.file + ": its pieces have other bytes");
  return shard;
}

// What is not finite has no place in JSON.
Json numbers_json(const std::map<std::string, double>& numbers) {
  Json json = Json::object();
  for (const auto& [name, number] : numbers)
    json[name] = std::isfinite(number) ? Json(number) : Json(std::to_string(number));
  return json;
}

std::map<std::string, double> parse_numbers(const Json& json) {
  std::map<std::string, double> numbers;
  for (const auto& [name, number] : json.items())
    numbers[name] =
        number.is_string() ? std::stod(number.get<std::string>()) : number.get<double>();
  return numbers;
}

Facts parse_facts(const Json& json) {
  Facts facts;
  facts.step = json.at("step");
  facts.consumed_samples = json.at("consumed_samples");
  facts.seed = json.at("seed");
  facts.ranks = json.at("ranks");
  facts.numbers = parse_numbers(json.at("numbers"));
  facts.texts = json.at("texts").get<std::map<std::string, std::string>>();
  return facts;
}

// Text that is whole by its checksum and yet not as it should be.
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

}  // namespace

std::string rank_json(const RankNote& note) {
  return sealed({{"version", kVersion},
                 {"attempt", note.attempt},
                 {"step", note.step},
                 {"rank", note.rank},
                 {"shard", shard_json(note.shard)}});
}

Result<RankNote> parse_rank_json(const std::string& text, const std::string& place) {
  return parsed(text, place, [](const Json& json) {
    return RankNote{json.at("attempt"), json.at("step"), json.at("rank"),
                    parse_shard(json.at("shard"))};
  });
}

std::string checkpoint_json(const Manifest& manifest) {
  const auto& facts = manifest.facts;
  Json shards = Json::array();
  for (const auto& shard : manifest.shards) shards.push_back(shard_json(shard));
  return sealed({{"version", kVersion},
                 {"step", facts.step},
                 {"consumed_samples", facts.consumed_samples},
                 {"seed", facts.seed},
                 {"ranks", facts.ranks},
                 {"numbers", numbers_json(facts.numbers)},
                 {"texts", Json(facts.texts)},
                 {"shards", shards}});
}

Result<Manifest> parse_checkpoint_json(const std::string& text, const std::string& place) {
  return parsed(text, place, [](const Json& json) {
    Manifest manifest;
    manifest.facts = parse_facts(json);
    for (const auto& shard : json.at("shards")) manifest.shards.push_back(parse_shard(shard));
    return manifest;
  });
}

}  // namespace orch::checkpoint

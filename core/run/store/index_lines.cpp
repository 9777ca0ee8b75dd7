#include "core/run/store/index_lines.h"

#include <fmt/format.h>

#include <string_view>

#include "core/base/json_fields.h"
#include "core/record/json_names.h"
#include "core/run/store/outcome_json.h"

namespace orch::store {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 5;  // the four before were tables of SQLite

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Index::Row read_row(Fields& fields) {
  Index::Row row;
  auto& facts = row.facts;
  facts.experiment = fields.text("experiment");
  facts.id = fields.text("id");
  facts.strategy = fields.text("strategy");
  facts.variant = fields.text("variant");
  facts.cluster = fields.text("cluster");
  facts.gpus = fields.whole("gpus");
  facts.nodes = fields.whole("nodes");
  facts.accumulate = fields.whole("accumulate");
  facts.steps = fields.whole("steps");
  facts.tokens_per_step = fields.number("tokens_per_step");
  facts.phases = static_cast<int>(fields.whole("phases", 0, 1'000'000));
  auto estimated = fields.object("estimated");
  facts.estimated.fit = estimated.text("fit");
  for (const auto& [name, member] : record::kEstimated)
    facts.estimated.*member = estimated.number_or(name, 0);
  auto outcome = fields.object("outcome");
  row.outcome = parse_outcome(outcome);
  row.updated = fields.number("updated");
  return row;
}

// Lines that wait for the end of their batch.
struct Batch {
  std::vector<Index::Row> rows;
  std::vector<std::pair<std::string, std::string>> forgotten;
  std::size_t lines = 0;
};

void take(Batch& batch, IndexLines& to) {
  for (const auto& key : batch.forgotten) to.rows.erase(key);
  for (auto& row : batch.rows) {
    auto key = std::pair(row.facts.experiment, row.facts.id);
    to.rows.insert_or_assign(std::move(key), std::move(row));
  }
  to.lines += batch.lines;
  batch = {};
}

}  // namespace

std::string index_line(const Index::Row& row) {
  const auto& facts = row.facts;
  Json estimated{{"fit", facts.estimated.fit}};
  for (const auto& [name, member] : record::kEstimated)
    if (const double value = facts.estimated.*member; value != 0) estimated[name] = value;
  return dump({{"experiment", facts.experiment},
               {"id", facts.id},
               {"strategy", facts.strategy},
               {"variant", facts.variant},
               {"cluster", facts.cluster},
               {"gpus", facts.gpus},
               {"nodes", facts.nodes},
               {"accumulate", facts.accumulate},
               {"steps", facts.steps},
               {"tokens_per_step", facts.tokens_per_step},
               {"phases", facts.phases},
               {"estimated", std::move(estimated)},
               {"outcome", Json::parse(outcome_json(row.outcome))},
               {"updated", row.updated}});
}

std::string forget_line(const std::string& experiment, const std::string& id) {
  return dump({{"experiment", experiment}, {"forget", id}});
}

std::string index_head() { return fmt::format("{{\"orch_index\":{}}}\n", kVersion); }
std::string batch_end(std::size_t lines) { return fmt::format("{{\"lines\":{}}}\n", lines); }

Result<IndexLines> parse_index(const std::string& text, const std::string& experiment) {
  IndexLines out;
  const Error damage{"", "is no index of orch", ""};
  const std::string_view all(text);
  Batch batch;
  std::size_t at = 0;
  for (std::size_t end; (end = all.find('\n', at)) != all.npos; at = end + 1) {
    const auto line = all.substr(at, end - at);
    const auto json = parse_json(line);
    if (!json.is_object()) return damage;
    Fields fields(json);
    if (at == 0) {
      out.other_version = fields.whole("orch_index") != kVersion;
      if (!fields.problem().empty()) return damage;
      if (out.other_version) return out;
      out.whole = end + 1;
    } else if (fields.has("lines")) {
      if (fields.whole("lines") != static_cast<std::int64_t>(batch.lines)) return damage;
      take(batch, out);
      out.whole = end + 1;
    } else {
      ++batch.lines;
      const auto of = fields.text("experiment");
      const bool wanted = experiment.empty() || of == experiment;
      if (wanted && fields.has("forget"))
        batch.forgotten.emplace_back(of, fields.text("forget"));
      else if (wanted)
        batch.rows.push_back(read_row(fields));
      if (!fields.problem().empty()) return damage;
    }
  }
  if (at == 0 && !all.empty()) return damage;  // not even a first line
  return out;
}

}  // namespace orch::store

#include "core/run/store/index_lines.h"

#include <fmt/format.h>

#include <optional>
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

// A line that waits for the end of its batch.
struct Waiting {
  IndexLines::Key key;
  bool forgets = false;
  std::optional<Index::Row> row;  // none: of an experiment that nobody asked for
};

// In their order: a row may be put and forgotten in one batch.
void take(std::vector<Waiting>& batch, IndexLines& to) {
  for (auto& line : batch) {
    if (line.forgets) {
      to.rows.erase(line.key);
      to.keys.erase(line.key);
      continue;
    }
    if (line.row) to.rows.insert_or_assign(line.key, std::move(*line.row));
    to.keys.insert(std::move(line.key));
  }
  to.lines += batch.size();
  batch.clear();
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
  std::vector<Waiting> batch;
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
      if (fields.whole("lines") != static_cast<std::int64_t>(batch.size())) return damage;
      take(batch, out);
      out.whole = end + 1;
    } else {
      auto& waiting = batch.emplace_back();
      waiting.forgets = fields.has("forget");
      const auto of = fields.text("experiment");
      waiting.key = {of, fields.text(waiting.forgets ? "forget" : "id")};
      if (!waiting.forgets && (experiment.empty() || of == experiment))
        waiting.row = read_row(fields);
      if (!fields.problem().empty()) return damage;
    }
  }
  if (at == 0 && !index_head().starts_with(all)) return damage;  // not even a first line
  return out;
}

}  // namespace orch::store

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/findings/compared.h"
#include "core/show/tables/comparison.h"

namespace orch::tables {
namespace {

using show::Cell, show::Columns;

struct PairRow {
  const compare::PairedComparison* all;
  const compare::MatchedPair* twins;
};

std::string remarks(const compare::MatchedPair& twins) {
  std::vector<std::string> out;
  const auto differs =
      mapped(twins.differs, [](const auto& each) { return findings::change_text(each, 1); });
  if (!differs.empty()) out.push_back("differs: " + join(differs, ", "));
  if (!twins.unsaid.empty()) out.push_back("not both say: " + join(twins.unsaid, ", "));
  return join(out, "; ");
}

std::string where_text(const compare::MatchedPair& twins) {
  const auto parts = mapped(twins.where, [](const auto& field) {
    if (field.first != "gpus") return field.first + " " + field.second;
    return field.second + (field.second == "1" ? " GPU" : " GPUs");
  });
  return parts.empty() ? twins.base_id + " and " + twins.id : join(parts, ", ");
}

}  // namespace

show::Table pairs_table(const SharedComparison& c) {
  std::vector<PairRow> rows;
  for (const auto& pairs : c->pairs)
    for (const auto& twins : pairs.pairs) rows.push_back({&pairs, &twins});
  Columns<PairRow> columns(std::move(rows));
  const auto value = [](const PairRow& row, const compare::ComparedAmount& of) {
    const auto& interval = of.of(row.twins->judgement.estimated);
    return interval_cell(interval,
                         format_number(interval->value) + (of.doubtful.empty() ? "" : " ?"));
  };
  columns.add("where", "where", 0, [](const PairRow& row) { return where_text(*row.twins); });
  columns.add("metric", "metric", 0, [](const PairRow& row) -> Cell {
    return {show::Value(row.twins->metric), row.twins->title};
  });
  columns.add("base_record", head_of(*c, 0), 0,
              [](const PairRow& row) { return row.twins->base_id; });
  columns.add("base_value", " ", 0,
              [value](const PairRow& row) { return value(row, row.twins->base); });
  columns.add("group", group_head(*c), 0,
              [c](const PairRow& row) { return group_cell(*c, row.all->group); });
  columns.add("record", other_head(*c), 0, [](const PairRow& row) { return row.twins->id; });
  columns.add("value", " ", 0,
              [value](const PairRow& row) { return value(row, row.twins->value); });
  columns.add("ratio", against_head(*c), 0, [](const PairRow& row) {
    const auto& ratio = *row.twins->judgement.ratio;
    return interval_cell(ratio, findings::ratio_text({ratio.value, {}, {}, 1},
                                                     {"is ", "faster", "slower", "as fast"}));
  });
  columns.add("remarks", "remarks", show::kBelow,
              [](const PairRow& row) { return remarks(*row.twins); });
  return columns.table("pairs", "Like for like: records that differ in nothing else");
}

show::Table ranking_table(const SharedComparison& c) {
  Columns<compare::RankedRecord> columns(std::vector<compare::RankedRecord>(c->ranking));
  const auto* metric = compare::headline(*c);
  columns.add("place", "place", 0, [](const compare::RankedRecord& rank) -> Cell {
    if (rank.place == 0) return {};
    return {Cell(rank.place).value, std::to_string(rank.place) + (rank.tie ? "=" : "")};
  });
  columns.add("tie", [](const compare::RankedRecord& rank) { return rank.tie; });
  columns.add("group", "group", 0,
              [c](const compare::RankedRecord& rank) { return group_cell(*c, rank.group); });
  columns.add("estimated", [](const compare::RankedRecord& rank) { return rank.estimated; });
  columns.add("", metric ? metric->title : "", 0, [c, metric](const compare::RankedRecord& rank) {
    const auto& value = metric->values[rank.group];
    auto text = !rank.estimated ? findings::measured_text(*metric, value)
                : value.estimated
                    ? findings::interval_text(*metric, *value.estimated) + " estimated"
                    : "";
    return text + (c->groups[rank.group].lost ? "; not ranked, as it lost its loss" : "");
  });
  auto out = columns.table("ranking", "Ranking");
  out.above = {"groups that share a place are within the error of each other"};
  return c->groups.size() > 2 ? out : show::for_programs(std::move(out));
}

}  // namespace orch::tables

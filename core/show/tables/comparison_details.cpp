#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/findings/compared.h"
#include "core/show/tables/comparison.h"

namespace orch::tables {
namespace {

using compare::GroupComparison, compare::Aspect, compare::Difference, compare::FieldAgreement,
    compare::GroupSummary;
using show::Cell, show::Columns, show::Finding, show::Findings;

std::string effect_text(plan::FieldEffect effect) {
  std::vector<std::string> parts;
  for (const auto aspect : compare::kAspects)
    if (is_on(effect, aspect)) parts.emplace_back(name(aspect));
  return parts.empty() ? "nothing" : join(parts, ", ");
}

std::string follows_text(const Difference& difference) {
  std::vector<std::string> parts;
  for (const auto& fields : difference.follows)
    for (const auto& field : fields)
      if (!contains(parts, field)) parts.push_back(field);
  return parts.empty() ? "" : "follows from " + join(parts, ", ");
}

bool differs(const Difference& difference) {
  return contains(difference.standings, FieldAgreement::differs);
}

// For people: a column for each group.
show::Table fields_table(const SharedComparison& c, const char* title, const char* head,
                         bool (*wanted)(const Difference&)) {
  std::vector<const Difference*> rows;
  for (const auto& difference : c->differences)
    if (wanted(difference)) rows.push_back(&difference);
  Columns<Difference> columns(std::move(rows));
  columns.add("", head, 0, [](const Difference& d) { return d.field; });
  for (std::size_t g = 0; g < c->groups.size(); ++g)
    columns.add("", head_of(*c, g), 0,
                [g](const Difference& d) { return findings::said_text(d.said[g]); });
  columns.add("", "can change", 0, [](const Difference& d) { return effect_text(d.effect); });
  columns.add("", " ", show::kBelow, follows_text);
  return columns.table("", title);
}

// For programs: a row for each field and group but the first.
struct FieldRow {
  const Difference* field;
  std::size_t group;
};

show::Table differences_table(const SharedComparison& c) {
  std::vector<FieldRow> rows;
  for (const auto& difference : c->differences)
    for (std::size_t g = 1; g < c->groups.size(); ++g) rows.push_back({&difference, g});
  Columns<FieldRow> columns(std::move(rows));
  const auto values = [](const compare::FieldValues& said) { return join(said.values, ", "); };
  columns.add("field", [](const FieldRow& row) { return row.field->field; });
  columns.add("kind", [](const FieldRow& row) {
    return row.field->circumstance ? "circumstance" : "setting";
  });
  columns.add("group", [c](const FieldRow& row) { return c->groups[row.group].name; });
  columns.add("base", [values](const FieldRow& row) { return values(row.field->said.front()); });
  columns.add("base_assumed", [](const FieldRow& row) { return row.field->said.front().assumed; });
  columns.add("value",
              [values](const FieldRow& row) { return values(row.field->said[row.group]); });
  columns.add("assumed", [](const FieldRow& row) { return row.field->said[row.group].assumed; });
  columns.add("standing",
              [](const FieldRow& row) { return name(row.field->standings[row.group]); });
  columns.add("follows",
              [](const FieldRow& row) { return join(row.field->follows[row.group], ", "); });
  for (const auto aspect : compare::kAspects)
    columns.add("changes_" + std::string(name(aspect)),
                [aspect](const FieldRow& row) { return is_on(row.field->effect, aspect); });
  return columns.table("differences");
}

std::string kind_text(const GroupSummary& group) {
  if (group.kind == compare::GroupKind::one) return "one run";
  return fmt::format("{}{}", group.ids.size(),
                     group.kind == compare::GroupKind::repeats ? " repeats" : " runs, a mixture");
}

// A group, compared with the first one.
struct GroupRow {
  std::size_t group;
  const GroupSummary* taken;
  const GroupComparison* against;  // null: the first group
};

// True if a group is named after its only record or its file; else it was selected by fields.
bool names_its_record(const GroupSummary& group) {
  return group.ids.size() == 1 &&
         (group.ids.front() == group.name || (group.name.find('=') == std::string::npos &&
                                              group.name.find_first_of("./") != std::string::npos));
}

// Shown to people only if a group is more than the one run that it is named after.
show::Table groups_table(const SharedComparison& c) {
  std::vector<GroupRow> rows;
  for (std::size_t g = 0; g < c->groups.size(); ++g)
    rows.push_back({g, &c->groups[g], g == 0 ? nullptr : &c->against[g - 1]});
  Columns<GroupRow> columns(std::move(rows));
  columns.add("group", "group", 0, [c](const GroupRow& row) { return group_cell(*c, row.group); });
  columns.add("kind", "what", 0, [](const GroupRow& row) -> Cell {
    return {Cell(name(row.taken->kind)).value, kind_text(*row.taken)};
  });
  columns.add("outcome", "outcome", 0,
              [](const GroupRow& row) { return findings::outcome_text(*row.taken); });
  columns.add("records", "records", show::kBelow, [](const GroupRow& row) -> Cell {
    return {Cell(join(row.taken->ids, ", ")).value, first_of(row.taken->ids, 4)};
  });
  columns.add("varies", [](const GroupRow& row) { return join(row.taken->varies, ", "); });
  columns.add("left_out", [](const GroupRow& row) { return row.taken->left_out; });
  columns.add("copies", [](const GroupRow& row) { return row.taken->copies; });
  const auto add = [&columns](const char* name, auto read) {
    columns.add(name, [read](const GroupRow& row) {
      return row.against ? Cell(read(*row.against)) : Cell();
    });
  };
  add("shared", [](const GroupComparison& a) { return a.shared_records; });
  add("itself", [](const GroupComparison& a) { return a.itself(); });
  add("repeats", [](const GroupComparison& a) { return a.repeats; });
  add("ended", [](const GroupComparison& a) { return name(a.outcome.verdict); });
  add("loss", [](const GroupComparison& a) { return name(a.loss_verdict); });
  add("loss_apart_from", [](const GroupComparison& a) { return a.losses.apart_from; });
  add("loss_apart_at_end", [](const GroupComparison& a) { return a.losses.apart_at_end; });
  auto out = columns.table("groups", "Groups");
  const bool plain = std::ranges::all_of(c->groups, [](const GroupSummary& group) {
    return names_its_record(group) && findings::outcome_text(group) == "ran";
  });
  return plain ? show::for_programs(std::move(out)) : out;
}

struct FieldPlace {
  const GroupComparison* against;
  const compare::LossPlace* place;
};

show::Table losses_table(const SharedComparison& c) {
  std::vector<FieldPlace> rows;
  for (const auto& against : c->against)
    for (const auto& place : against.losses.places) rows.push_back({&against, &place});
  Columns<FieldPlace> columns(std::move(rows));
  const auto number = [](double value, const char* form) -> Cell {
    return {show::Value(value), fmt::format(fmt::runtime(form), value)};
  };
  columns.add("group", group_head(*c), 0,
              [c](const FieldPlace& row) { return group_cell(*c, row.against->group); });
  columns.add("share", "of the range", 0, [](const FieldPlace& row) -> Cell {
    return {show::Value(row.place->share), fmt::format("{:.0f} %", 100 * row.place->share)};
  });
  columns.add("at", "at", 0, [](const FieldPlace& row) -> Cell {
    return {show::Value(row.place->at), findings::place_text(row.against->losses, row.place->at)};
  });
  columns.add("base", head_of(*c, 0), 0,
              [number](const FieldPlace& row) { return number(row.place->base, "{:.4g}"); });
  columns.add("value", other_head(*c), 0,
              [number](const FieldPlace& row) { return number(row.place->other, "{:.4g}"); });
  columns.add("difference", "difference", 0, [number](const FieldPlace& row) {
    return number(row.place->other - row.place->base, "{:+.3g}");
  });
  columns.add("standard_error", "standard error", 0, [number](const FieldPlace& row) {
    return row.place->error ? number(*row.place->error, "{:.2g}") : Cell({}, "not known");
  });
  return columns.table("losses", "Loss at the same tokens");
}

struct SpikeRow {
  std::size_t group;
  const record::Spike* spike;
};

std::vector<SpikeRow> jumps_of(const compare::Comparison& c) {
  std::vector<SpikeRow> out;
  const auto add = [&out](std::size_t group, const std::vector<record::Spike>& spikes) {
    for (const auto& spike : spikes) out.push_back({group, &spike});
  };
  add(0, c.against.front().losses.base.spikes);
  for (const auto& against : c.against) add(against.group, against.losses.other.spikes);
  return out;
}

show::Table spikes_table(const SharedComparison& c) {
  Columns<SpikeRow> columns(jumps_of(*c));
  columns.add("group", [c](const SpikeRow& row) { return c->groups[row.group].name; });
  columns.add("step", [](const SpikeRow& row) { return row.spike->step; });
  columns.add("before", [](const SpikeRow& row) { return row.spike->before; });
  columns.add("peak", [](const SpikeRow& row) { return row.spike->peak; });
  columns.add("recovered", [](const SpikeRow& row) {
    return row.spike->recovered == 0 ? Cell() : Cell(row.spike->recovered);
  });
  columns.add("at_resume", [](const SpikeRow& row) { return row.spike->at_resume; });
  return columns.table("spikes");
}

Findings loss_findings(const compare::Comparison& c) {
  constexpr std::size_t kJumps = 5;  // listed per group
  Findings out;
  const auto add = [&out](const std::string& text) {
    out.list.push_back({"loss", printable(text)});
  };
  for (const auto& against : c.against)
    if (against.losses.present)
      add(fmt::format("{} ({}) against {} ({}): {}", findings::spoken(c, against.group),
                      against.losses.other.id, findings::spoken(c, 0), against.losses.base.id,
                      findings::losses_text(against.losses)));
  std::vector<std::size_t> count(c.groups.size());
  for (const auto& [group, spike] : jumps_of(c))
    if (++count[group] <= kJumps)
      add(findings::spoken(c, group) + ": " + findings::spike_text(*spike));
  for (std::size_t g = 0; g < count.size(); ++g)
    if (count[g] > kJumps)
      add(fmt::format("{}: {} more jumps", findings::spoken(c, g), count[g] - kJumps));
  return out;
}

}  // namespace

void add_details(const SharedComparison& c, show::Answer& to) {
  const auto add = [&to](show::Table table) {
    if (table.rows == 0) table = show::for_programs(std::move(table));
    to.sections.emplace_back(std::move(table));
  };
  add(groups_table(c));
  add(fields_table(c, "Settings that differ", "setting",
                   [](const Difference& d) { return !d.circumstance && differs(d); }));
  add(fields_table(c, "Circumstances that differ", "circumstance", [](const Difference& d) {
    return d.circumstance && differs(d) && d.effect.any();
  }));
  add(fields_table(c, "Cannot be compared: not all say it", "field",
                   [](const Difference& d) { return !differs(d); }));
  add(differences_table(c));
  add(losses_table(c));
  add(spikes_table(c));
  to.sections.emplace_back(loss_findings(*c));
  Findings doubts{"Doubts", {}};
  for (const auto& doubt : findings::doubts(*c)) doubts.list.push_back({"doubt", printable(doubt)});
  to.sections.emplace_back(std::move(doubts));
}

}  // namespace orch::tables

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/plan/experiment/reader.h"

namespace orch::experiment {
namespace {

constexpr const char* kExpect = "expect = { tokens_per_second = { value = 68000, below = 0.05 } }";

}  // namespace

// One table of quantities, or a list of them, each for the runs that its `where` chooses.
void ExperimentReader::read_expect(const sol::object& value) {
  if (!has_table(value, "expect", kExpect)) return;
  const auto keys = keys_of(value.as<sol::table>(), "expect", errors_);
  if (keys.items.empty()) return read_expected(value.as<sol::table>(), "expect");
  if (!keys.fields.empty())
    error("expect." + printable(keys.fields.front().first), "cannot stand beside a list",
          "put it into one of the tables of the list");
  for (std::size_t i = 0; i < keys.items.size(); ++i) {
    const auto place = fmt::format("expect[{}]", i + 1);
    if (is_table(keys.items[i], place, kExpect))
      read_expected(keys.items[i].as<sol::table>(), place);
  }
}

void ExperimentReader::read_expected(const sol::table& table, const std::string& place) {
  const auto fields = fields_of(table, place, kExpect, errors_);
  std::string where;
  for (const auto& [name, held] : fields) {
    if (name != "where") continue;
    if (held.get_type() == sol::type::string)
      where = held.as<std::string>();
    else
      error(place + ".where", fmt::format("{} is not a string", type_name(held)),
            "write where = \"strategy=ddp,gpus=8\"");
  }
  const auto& known = state_.quantities();
  for (const auto& [name, held] : fields) {
    if (name == "where") continue;
    const auto below = place + "." + printable(name);
    if (!contains(known, name))
      error(below, "no such quantity", suggestion(name, known));
    else if (is_table(held, below, kExpect))
      read_expectation(held.as<sol::table>(), below, {name, 0, {}, {}, where});
  }
}

void ExperimentReader::read_expectation(const sol::table& table, const std::string& place,
                                        plan::Expectation expectation) {
  const auto before = errors_.size();
  read_named(table, place, kExpect,
             {{"value", [&](auto& held, auto& at) { expectation.value = positive(held, at); }},
              {"below",
               [&](auto& held, auto& at) {
                 expectation.below = positive(held, at);
                 if (*expectation.below >= 1)
                   error(at, "not a share below 1", "write 0.05 for 5 %");
               }},
              {"above", [&](auto& held, auto& at) { expectation.above = positive(held, at); }}});
  if (!table.raw_get<sol::object>("value").valid() && errors_.size() == before)
    error(place + ".value", "missing", std::string("write ") + kExpect);
  if (!expectation.below && !expectation.above && errors_.size() == before)
    error(place, "no tolerance", "say how far below or above the value may be: below = 0.05");
  if (errors_.size() == before) out_.expect.push_back(std::move(expectation));
}

}  // namespace orch::experiment

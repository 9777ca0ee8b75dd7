#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/base/text.h"
#include "core/plan/hardware/constants.h"

namespace orch::hardware {
namespace {

using plan::Constant;
using plan::SiteOperation;

constexpr std::size_t kLongestCurrency = 12;

bool is_currency(std::string_view text) {
  return !text.empty() && text.size() <= kLongestCurrency &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalpha(c) != 0; });
}

// "2.50 EUR".
void read_amount(const YamlField& field, double& value, std::string& currency) {
  const auto text = field.text();
  if (!text) return;
  const auto whole = trim(*text);
  double number = 0;
  const auto [end, code] = std::from_chars(whole.data(), whole.data() + whole.size(), number);
  const auto unit =
      trim(std::string_view(whole).substr(static_cast<std::size_t>(end - whole.data())));
  if (code != std::errc() || !(number >= kPrice.min && number <= kPrice.max) || !is_currency(unit))
    return field.problem(fmt::format("'{}' is not {}", printable(*text), kPrice.what),
                         fmt::format("write it like {}", kPrice.example));
  if (!currency.empty() && currency != unit)
    field.problem(fmt::format("a price in {} beside one in {}", printable(unit), currency),
                  "use one currency");
  value = number;
  currency = unit;
}

void read_price(const YamlField& field, Constant& out, std::string& currency) {
  const Map map(field, {"value", "origin"});
  if (const auto* value = map.require("value", kPrice.example))
    read_amount(*value, out.value, currency);
  if (const auto* origin = map.require("origin", "\"where it comes from\""))
    out.origin = origin->text().value_or("");
}

// Two forms of one number.
void refuse_both(const Map& map, const char* one, const char* other) {
  if (const auto* second = map.find(other); second && map.find(one))
    second->problem(fmt::format("given beside {}", one), "keep one of them");
}

// What is given replaces both forms.
void replace(const Constant& one, const Constant& other, Constant& out_one, Constant& out_other) {
  if (one.origin.empty() && other.origin.empty()) return;
  out_one = one;
  out_other = other;
}

}  // namespace

SiteOperation read_operation(const YamlField& field) {
  SiteOperation out;
  for (const auto& each : kOperationFields) out.*each.member = {};
  auto known = keys(kOperationFields);
  known.insert(known.end(), {"price", "node_price"});
  const Map map(field, known);
  read_constants(map, kOperationFields, Presence::all_optional, out);
  if (const auto* price = map.find("price")) read_price(*price, out.price, out.currency);
  if (const auto* price = map.find("node_price")) read_price(*price, out.node_price, out.currency);
  refuse_both(map, "price", "node_price");
  refuse_both(map, "failures", "node_days_between_failures");
  return out;
}

void override_operation(const SiteOperation& given, SiteOperation& out) {
  replace(given.failures, given.node_days_between_failures, out.failures,
          out.node_days_between_failures);
  replace(given.price, given.node_price, out.price, out.node_price);
  if (!given.currency.empty()) out.currency = given.currency;
  for (const auto& each : kOperationFields) {
    const auto at = each.member;
    const bool has_two_forms =
        at == &SiteOperation::failures || at == &SiteOperation::node_days_between_failures;
    if (!has_two_forms && !(given.*at).origin.empty()) out.*at = given.*at;
  }
}

}  // namespace orch::hardware

#include "core/app/changed.h"

#include <algorithm>

#include "core/plan/hardware/write.h"

namespace orch::app {

std::vector<ChangedConstant> changed_constants(const std::string& cluster,
                                               const plan::Partition& before,
                                               const plan::Partition& after,
                                               std::string_view origin) {
  const auto old = hardware::named_constants(before);
  std::vector<ChangedConstant> out;
  for (const auto& now : hardware::named_constants(after)) {
    if (!now.constant.origin.starts_with(origin)) continue;
    out.push_back({cluster, now.name, {}, now.constant.value, "-", now.value});
    const auto was = std::ranges::find(old, now.name, &hardware::NamedConstant::name);
    if (was == old.end()) continue;
    out.back().was = was->constant.value;
    out.back().was_text = was->value;
  }
  return out;
}

show::Table changed_table(std::string name, std::string title, const char* head,
                          std::vector<ChangedConstant> rows) {
  show::Columns<ChangedConstant> columns(std::move(rows));
  columns.add("of", [](const ChangedConstant& c) { return c.of; });
  columns.add("name", "constant", 0, [](const ChangedConstant& c) { return c.name; });
  columns.add("before", "before", 0, [](const ChangedConstant& c) {
    return show::Cell(c.was ? show::Value(*c.was) : show::Value(), c.was_text);
  });
  columns.add("after", head, 0,
              [](const ChangedConstant& c) { return show::Cell(c.now, c.now_text); });
  return columns.table(std::move(name), std::move(title));
}

}  // namespace orch::app

#include "core/app/changed.h"

namespace orch::app {

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

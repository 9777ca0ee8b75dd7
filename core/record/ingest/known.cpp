#include "core/record/ingest/known.h"

namespace orch::ingest {

Settings settings_of(const Known& known, int weight) {
  Settings out;
  for (const auto& [name, value] : known) {
    const bool billions = name == "params_b";
    const auto target = parse_target(billions ? "params" : name);
    if (!target || static_cast<std::size_t>(*target) >= kSettings) continue;
    Values values;
    if (values.read(*target, value, billions ? 1e9 : 1)) out.take(values, weight);
  }
  return out;
}

}  // namespace orch::ingest

#include "core/plan/estimate.h"

namespace orch::plan {

std::string_view name(Fit fit) {
  switch (fit) {
    case Fit::fits:
      return "fits";
    case Fit::tight:
      return "tight";
    case Fit::oom:
      return "oom";
  }
  return "";
}

}  // namespace orch::plan

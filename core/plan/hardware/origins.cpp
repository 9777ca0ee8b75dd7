#include "core/plan/hardware/origins.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/plan/hardware/constants.h"

namespace orch::hardware {
namespace {

constexpr std::string_view kFitted = "fitted:";

void gather(const plan::Constant& constant, std::vector<std::string>& out) {
  const auto& origin = constant.origin;
  if (!origin.starts_with(kFitted)) return;
  const auto text = std::string(trim(std::string_view(origin).substr(kFitted.size())));
  if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(text);
}

template <class T, std::size_t N>
void gather(const T& from, const std::array<ConstantField<T>, N>& fields,
            std::vector<std::string>& out) {
  for (const auto& field : fields) gather(from.*field.member, out);
}

}  // namespace

std::vector<std::string> fitted_on(const plan::Partition& partition) {
  std::vector<std::string> out;
  gather(partition.gpu, kGpuFields, out);
  for (const auto& [format, peak] : partition.gpu.peaks) gather(peak, out);
  gather(partition.intra_node, kLinkFields, out);
  gather(partition.network, kLinkFields, out);
  gather(partition.pcie, kLinkFields, out);
  gather(partition, kHostFields, out);
  gather(partition.efficiency, kEfficiencyFields, out);
  return out;
}

}  // namespace orch::hardware

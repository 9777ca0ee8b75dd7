#include "core/plan/defaults.h"

#include "core/base/text.h"
#include "core/plan/stack.h"

namespace orch::plan {
namespace {

// Flash attention needs the tensor cores of an A100 or a later GPU.
constexpr std::int64_t kFirstYear = 2020;

bool has_16_bits(std::string_view dtype) { return dtype != "fp32" && dtype != "tf32"; }

// True if the framework's template refuses the setting; templates are otherwise read only when a
// run is rendered.
bool is_refused_by(const std::string& framework) {
  return framework_name(framework).name == "megatron-deepspeed-bloom";
}

bool is_unseen_in(const Partition& partition, const std::string& name) {
  const auto* on = find_stack(partition, name);
  if (!on) return false;
  const auto& settings = on->stack->seen.settings;
  const auto seen = settings.find("flash_attention");
  return seen != settings.end() && !contains(seen->second, "true");
}

}  // namespace

bool has_flash_attention(const DefaultsOf& of) {
  if (!of.partition || of.partition->gpu.released < kFirstYear || !has_16_bits(of.dtype))
    return false;
  if (!of.framework.empty() && is_refused_by(of.framework)) return false;
  return of.stack.empty() || !is_unseen_in(*of.partition, of.stack);
}

bool has_flash_attention(const Run& run) {
  const auto stack = named_stack(run);
  return has_flash_attention({run.partition, run.dtype(), run.framework, stack});
}

Value default_flash_attention(const Param& param, const DefaultsOf& of) {
  return param.type == ParamType::boolean && has_flash_attention(of) ? Value(true)
                                                                     : param.default_value;
}

Value default_setting(const Param& param, const Run& run, const std::string& stack) {
  if (param.name == "engine") return default_engine(param, run.framework);
  if (param.name != "flash_attention") return param.default_value;
  return default_flash_attention(param, {run.partition, run.dtype(), run.framework, stack});
}

std::string named_stack(const Run& run) { return run.stack == default_stack(run) ? "" : run.stack; }

}  // namespace orch::plan

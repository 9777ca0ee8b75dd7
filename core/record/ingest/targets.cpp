#include "core/record/ingest/targets.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/record/ingest/number.h"

namespace orch::ingest {
namespace {

constexpr std::array<std::string_view, kTargets> kNames = {
#define ORCH_TARGET(name) #name,
    ORCH_TARGETS(ORCH_TARGET)
#undef ORCH_TARGET
};

bool is_none(std::string_view text) {
  return text.empty() || text == "None" || text == "null" || text == "none";
}

std::optional<bool> to_flag(std::string_view text) {
  if (text == "True" || text == "true" || text == "1" || text == "yes") return true;
  if (text == "False" || text == "false" || text == "0" || text == "no") return false;
  return std::nullopt;
}

}  // namespace

std::string_view name(IngestTarget target) { return kNames[static_cast<std::size_t>(target)]; }

std::optional<IngestTarget> parse_target(std::string_view text) {
  return enum_of<IngestTarget>(kNames, text);
}

const std::vector<std::string>& target_names() {
  static const std::vector<std::string> kAll(kNames.begin(), kNames.end());
  return kAll;
}

bool tells_apart(IngestTarget setting) {
  using enum IngestTarget;
  constexpr std::array kApart{gpus,
                              layers,
                              hidden,
                              heads,
                              vocab,
                              seq,
                              tp,
                              pp,
                              cp,
                              dp,
                              interleave,
                              mbs,
                              gas,
                              gbs,
                              zero_stage,
                              flash_attn,
                              sequence_parallel,
                              offload_weights,
                              offload_optimizer,
                              act_ckpt,
                              dtype,
                              optimizer};
  return contains(kApart, setting);
}

bool TargetValues::read(IngestTarget target, std::string_view text, double scale, double over) {
  text = trim(text);
  if (is_none(text)) return false;
  if (type(target) == Type::text) {
    set_text(target, text);
    return true;
  }
  if (type(target) == Type::flag) {
    const auto flag = to_flag(text);
    if (flag) set(target, *flag ? 1 : 0);
    return flag.has_value();
  }
  auto number = to_number(text);
  if (const auto last = text.size() - 1; !number && last > 0)
    if (const auto factor = suffix_factor(text.substr(last)); factor != 1)
      if ((number = to_number(text.substr(0, last)))) *number *= factor;
  if (number) set(target, *number * scale / over);
  return number.has_value();
}

}  // namespace orch::ingest

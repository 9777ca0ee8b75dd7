#include "core/price/backend/backend.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/price/backend/collect.h"
#include "core/base/text.h"
#include "core/price/backend/describe.h"

namespace orch::backend {
namespace {

orch_value to_abi(const plan::Value& value, plan::ParamType type) {
  orch_value to{static_cast<std::uint32_t>(type), plan::is_given(value) ? 1u : 0u, 0, 0, nullptr};
  if (const auto* flag = std::get_if<bool>(&value)) to.integer = *flag ? 1 : 0;
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    to.integer = *number;
    to.real = static_cast<double>(*number);
  }
  if (const auto* number = std::get_if<double>(&value)) to.real = *number;
  if (const auto* text = std::get_if<std::string>(&value)) to.text = text->c_str();
  return to;
}

using Sizes = std::array<orch_size, plan::kSizes.size()>;

// Those that are other than in an empty model.
std::uint32_t to_abi(const plan::Model& model, Sizes& sizes) {
  static const plan::Model kEmpty;
  std::uint32_t count = 0;
  for (const auto& size : plan::kSizes)
    if (const double value = get_size(model, size); value != get_size(kEmpty, size))
      sizes[count++] = {size.name, value};
  return count;
}

orch_run to_abi(const plan::Run& run, std::uint32_t strategy, std::span<const orch_value> values,
                Sizes& sizes) {
  orch_run to{};
  to.struct_size = sizeof to;
  to.strategy = strategy;
  to.values = values.data();
  to.n_values = static_cast<std::uint32_t>(values.size());
  to.family = run.model.family.c_str();
  to.sizes = sizes.data();
  to.n_sizes = to_abi(run.model, sizes);
  to.size_size = sizeof(orch_size);
  to.gpus = run.gpus;
  to.nodes = run.nodes;
  to.gpus_per_node = run.partition ? run.partition->gpus_per_node
                                   : run.gpus / std::max<std::int64_t>(run.nodes, 1);
  to.tensor_parallel = run.layout.tensor_parallel;
  to.pipeline_parallel = run.layout.pipeline_parallel;
  to.data_parallel = run.layout.data_parallel;
  to.context_parallel = run.layout.context_parallel;
  to.micro_batch = run.batch.micro_batch;
  to.accumulate = run.batch.accumulate;
  to.global_batch = run.batch.global_batch;
  return to;
}

// Calls with the run as the border knows it; settings of usual number stay on the stack.
template <class Call>
void with_abi_run(const plan::Run& run, std::uint32_t strategy, Call&& call) {
  const auto& params = run.strategy->params;
  ORCH_CHECK(run.settings.size() == params.size(), "every setting of a run has a value");
  std::array<orch_value, 32> few;
  std::vector<orch_value> many;
  if (params.size() > few.size()) many.resize(params.size());
  const std::span values(many.empty() ? few.data() : many.data(), params.size());
  for (std::size_t i = 0; i < params.size(); ++i)
    values[i] = to_abi(run.settings[i], params[i].type);
  Sizes sizes;
  const auto abi_run = to_abi(run, strategy, values, sizes);
  call(&abi_run);
}

}  // namespace

Backend::Backend(const orch_backend* abi, fs::path file)
    : abi_(abi),
      file_(std::move(file)),
      name_(abi->name),
      version_(abi->version),
      doc_(abi->doc ? abi->doc : "") {}

Result<Backend> Backend::from(const orch_backend* abi, const fs::path& file) {
  const auto place = file.string();
  auto errors = check_description(abi, place);
  if (!errors.empty()) return errors;
  Backend backend(abi, file);
  backend.strategies_ = strategies_of(*abi, place, errors);
  if (!errors.empty()) return errors;
  return backend;
}

std::uint32_t Backend::index_of(const plan::Strategy& strategy) const {
  for (std::size_t i = 0; i < strategies_.size(); ++i)
    if (strategies_[i].get() == &strategy || strategies_[i]->name == strategy.name)
      return static_cast<std::uint32_t>(i);
  ORCH_CHECK(false, "a run goes to the backend that offers its strategy");
  return 0;
}

// What a plug-in throws ends at its border. (What it breaks does not: it is part of this process.)
template <class Call>
void Backend::guarded(const plan::Run& run, Collector& collector, const Call& call) const {
  const auto sink = collector.sink();
  try {
    with_abi_run(run, index_of(*run.strategy), [&](const orch_run* abi_run) { call(abi_run, &sink); });
  } catch (const std::exception& error) {
    collector.flawed("it threw: " + printable(error.what()));
  } catch (...) {
    collector.flawed("it threw something");
  }
}

void Backend::check(const plan::Run& run, std::vector<Error>& reasons,
                    std::vector<Error>& warnings) const {
  Collector collector{nullptr, false, &reasons, &warnings};
  guarded(run, collector, abi_->check);
}

void Backend::check(const plan::Run& run, Tally& tally) const {
  Collector collector;
  collector.tally = &tally;
  tally.clear();
  guarded(run, collector, abi_->check);
}

Status Backend::work(const plan::Run& run, bool explain, Work& work) const {
  work.clear();
  Errors errors;
  Collector collector{&work, explain, &errors, nullptr};
  guarded(run, collector, abi_->work);
  if (errors.empty()) collector.finish();
  for (auto& error : errors) error.place = file_.string() + ": " + error.place;
  return errors;
}

}  // namespace orch::backend

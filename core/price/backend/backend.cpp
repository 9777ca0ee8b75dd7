#include "core/price/backend/backend.h"

#include <algorithm>
#include <span>

#include "core/base/text.h"
#include "core/price/backend/abi_value.h"
#include "core/price/backend/collect.h"

namespace orch::backend {
namespace {

// The sizes that differ from those of an empty model.
std::uint32_t to_abi(const plan::Model& model, std::span<orch_size> sizes) {
  static const plan::Model kEmpty;
  std::uint32_t count = 0;
  for (const auto& size : plan::kSizes)
    if (const double value = get_size(model, size); value != get_size(kEmpty, size))
      sizes[count++] = {size.name, value};
  return count;
}

}  // namespace

AbiRun::AbiRun(const plan::Run& run, std::uint32_t strategy) : from_(run), strategy_(strategy) {
  convert();
}

void AbiRun::convert() {
  const auto& run = from_;
  values_.resize(run.strategy->params.size());
  ORCH_CHECK(run.settings.size() == values_.size(), "every setting of a run has a value");
  for (std::size_t i = 0; i < values_.size(); ++i) convert_setting(i);
  run_.struct_size = sizeof run_;
  run_.strategy = strategy_;
  run_.values = values_.data();
  run_.n_values = static_cast<std::uint32_t>(values_.size());
  run_.value_size = sizeof(orch_value);
  run_.family = run.model.family.c_str();
  run_.sizes = sizes_.data();
  run_.n_sizes = to_abi(run.model, sizes_);
  run_.size_size = sizeof(orch_size);
  run_.gpus = run.gpus;
  run_.nodes = run.nodes;
  run_.gpus_per_node = run.partition ? run.partition->gpus_per_node
                                     : run.gpus / std::max<std::int64_t>(run.nodes, 1);
  run_.tensor_parallel = run.layout.tensor_parallel;
  run_.pipeline_parallel = run.layout.pipeline_parallel;
  run_.data_parallel = run.layout.data_parallel;
  run_.context_parallel = run.layout.context_parallel;
  run_.micro_batch = run.batch.micro_batch;
  run_.accumulate = run.batch.accumulate;
  run_.global_batch = run.batch.global_batch;
  run_.gpus_per_domain = run.partition ? run.partition->domain() : 0;
  run_.usable_memory = run.partition ? run.partition->gpu.usable_memory.value : 0;
}

void AbiRun::convert_setting(std::size_t i) {
  values_[i] = to_abi(from_.settings[i], from_.strategy->params[i].type);
}

std::uint32_t Backend::index_of(const plan::Strategy& strategy) const {
  for (std::size_t i = 0; i < strategies_.size(); ++i)
    if (strategies_[i].get() == &strategy || strategies_[i]->name == strategy.name)
      return static_cast<std::uint32_t>(i);
  ORCH_CHECK(false, "a run goes to the backend that offers its strategy");
  return 0;
}

AbiRun Backend::abi_run(const plan::Run& run) const { return {run, index_of(*run.strategy)}; }

// Exceptions of a plug-in end at its border. (Crashes do not: it is part of this process.)
template <class Call>
void Backend::guarded(const AbiRun& run, Collector& collector, const Call& call) const {
  const auto sink = collector.sink();
  try {
    call(run.get(), &sink);
  } catch (const std::exception& error) {
    collector.flawed("it threw: " + printable(error.what()));
  } catch (...) {
    collector.flawed("it threw something");
  }
}

void Backend::check(const plan::Run& run, std::vector<Error>& reasons,
                    std::vector<Error>& warnings) const {
  Collector collector{nullptr, WorkTexts::none, &reasons, &warnings};
  guarded(abi_run(run), collector, abi_->check);
}

Status Backend::work(const plan::Run& run, WorkTexts explained, Work& work) const {
  return this->work(abi_run(run), explained, work);
}

Status Backend::work(const AbiRun& run, WorkTexts explained, Work& work) const {
  work.clear();
  work.explained = explained;
  Errors errors;
  Collector collector{&work, explained, &errors, nullptr};
  guarded(run, collector, abi_->work);
  if (errors.empty()) collector.finish();
  return of_file(std::move(errors));
}

Status Backend::fit(const AbiRun& run, ProblemTally& tally, Work& work) const {
  work.clear();
  work.explained = WorkTexts::none;
  tally.clear();
  Errors errors;
  Collector collector{&work, WorkTexts::none, &errors};
  collector.tally = &tally;
  const bool has_fit = abi_->struct_size > offsetof(orch_backend, fit) && abi_->fit;
  guarded(run, collector, has_fit ? abi_->fit : abi_->check);
  if (!errors.empty() || tally.reasons > 0) return of_file(std::move(errors));
  if (!has_fit) return this->work(run, WorkTexts::none, work);
  collector.finish_memory();
  return of_file(std::move(errors));
}

Status Backend::add_time(const AbiRun& run, Work& work) const {
  work.clear_time();
  Errors errors;
  Collector collector{&work, WorkTexts::none, &errors};
  collector.knows_memory = true;
  guarded(run, collector, abi_->work);
  if (errors.empty()) collector.finish();
  return of_file(std::move(errors));
}

Errors Backend::of_file(Errors errors) const {
  for (auto& error : errors) error.place = file_.string() + ": " + error.place;
  return errors;
}

}  // namespace orch::backend

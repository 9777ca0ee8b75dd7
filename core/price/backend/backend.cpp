#include "core/price/backend/backend.h"

#include "core/price/backend/collect.h"
#include "core/base/text.h"
#include "core/price/backend/describe.h"

namespace orch::backend {

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

AbiRun Backend::abi_run(const plan::Run& run) const { return {run, index_of(*run.strategy)}; }

// What a plug-in throws ends at its border. (What it breaks does not: it is part of this process.)
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
  Collector collector{nullptr, false, &reasons, &warnings};
  guarded(abi_run(run), collector, abi_->check);
}

void Backend::check(const AbiRun& run, Tally& tally) const {
  Collector collector;
  collector.tally = &tally;
  tally.clear();
  guarded(run, collector, abi_->check);
}

Status Backend::work(const plan::Run& run, bool explain, Work& work) const {
  return this->work(abi_run(run), explain, work);
}

Status Backend::work(const AbiRun& run, bool explain, Work& work) const {
  work.clear();
  Errors errors;
  Collector collector{&work, explain, &errors, nullptr};
  guarded(run, collector, abi_->work);
  if (errors.empty()) collector.finish();
  for (auto& error : errors) error.place = file_.string() + ": " + error.place;
  return errors;
}

}  // namespace orch::backend

#pragma once

#include <string>

#include "core/plan/cluster.h"
#include "core/plan/estimate.h"
#include "core/price/backend/work.h"

namespace orch::estimate {

// Bytes of an item of memory: the hardware knows what a communicator takes.
double bytes_of(const backend::Memory& item, const plan::Partition& partition);

// In memory beside the device's: not where the device is the host.
bool is_on_host(const backend::Memory& item, const plan::Partition& partition);

// Bytes that a caching allocator holds and no tensor uses, when `held` bytes are needed and
// `settled` of them were taken once and for good: a share of the others, less as the device fills
// up (it gives blocks back before it fails), but never nothing.
double allocator_slack(const plan::Partition& partition, double held, double settled = 0);

// Whether the memory, with its range, fits the partition's GPUs and hosts.
plan::Fit judge_fit(const plan::Partition& partition, const plan::Estimate& estimate);

// Why it is tight or does not fit: "85.9 GB of 85.0 GB on the GPU". Apart, because words take
// longer than the judgement, and of millions of runs few are looked at.
std::string fit_reason(const plan::Partition& partition, const plan::Estimate& estimate);

}  // namespace orch::estimate

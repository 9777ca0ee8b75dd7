#pragma once

#include <string>

#include "core/plan/cluster.h"
#include "core/plan/estimate.h"
#include "core/price/backend/work.h"

namespace orch::estimate {

// Bytes of an item of memory; the partition defines the size of a communicator.
double bytes_of(const backend::Memory& item, const plan::Partition& partition);

// True if the item is in host memory besides the device's: never where the device is the host.
bool is_on_host(const backend::Memory& item, const plan::Partition& partition);

// Bytes that a caching allocator holds without tensors in them, when `held` bytes are needed and
// `settled` of them were allocated once and stay: a share of the others that decreases as the
// device fills up (the allocator returns blocks before it fails), but is never zero.
double allocator_slack(const plan::Partition& partition, double held, double settled = 0);

// Decides if the memory, with its range, fits the partition's GPUs and hosts.
plan::MemoryFit judge_fit(const plan::Partition& partition, const plan::Estimate& estimate);

// Why it is tight or does not fit: "85.9 GB of 85.0 GB on the GPU". A separate function, because
// formatting takes longer than judging, and only a few of millions of runs are displayed.
std::string fit_reason(const plan::Partition& partition, const plan::Estimate& estimate);

}  // namespace orch::estimate

#pragma once

#include <string>

namespace orch::measure {

// An output of orch-measure with round numbers: 40 and 20 GFLOP/s, copies at 8 GB/s, an all-reduce
// with 100 us of latency in all and 1 GB/s.
inline const std::string kRecorded = R"({
 "version": 1, "torch": "1.13.0", "device": "cpu", "name": "", "ranks": 2,
 "memory": {"in_all": 16000000000, "context": 150000000, "communicator": 2000000},
 "threads": 1, "best_threads": 1, "launch_seconds": 2e-6,
 "products": [
  {"dtype": "fp32", "m": 100, "n": 100, "k": 100, "batch": 1, "seconds": 5.0e-5},
  {"dtype": "fp32", "m": 1000, "n": 1000, "k": 1000, "batch": 1, "seconds": 0.1}],
 "attention": [
  {"dtype": "fp32", "m": 128, "n": 128, "k": 32, "batch": 125, "seconds": 6.5536e-3},
  {"dtype": "fp32", "m": 128, "n": 128, "k": 36, "batch": 125, "seconds": 14.7456e-3}],
 "layer": {"hidden": 128, "heads": 4, "seq": 128, "vocab": 512, "micro_batch": 4},
 "passes": [
  {"op": "copy", "elements": 1000000, "bytes": 8000000, "seconds": 1e-3},
  {"op": "optimizer", "elements": 1000000, "bytes": 28000000, "seconds": 7e-3},
  {"op": "element-wise", "elements": 65536, "bytes": 262144, "seconds": 4e-3},
  {"op": "scores", "elements": 262144, "bytes": 1048576, "seconds": 5e-3},
  {"op": "cross entropy", "elements": 262144, "bytes": 1048576, "seconds": 6e-3}],
 "all_reduce": [
  {"bytes": 1000, "seconds": 101e-6}, {"bytes": 1000000, "seconds": 1.1e-3},
  {"bytes": 64000000, "seconds": 64.1e-3}],
 "copies": []
})";

}  // namespace orch::measure

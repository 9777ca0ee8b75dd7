#pragma once

#include "backends/measure/timing.h"

namespace orch::measure {

// {"dtype", "m", "n", "k", "seconds"}: of [m, k] x [k, n] in the three forms in which training
// multiplies (forward, for the input's gradient, for the weights'), on average. From products that
// fill the device to those of a tiny model.
Json products(Bench& bench);

// {"dtype", "m", "n", "k", "batch", "seconds"}: batches of small products, as attention has them.
Json attention_products(Bench& bench);

// Threads with which a product of middle size is fastest, of those that the rank may use.
int best_threads(Bench& bench);

}  // namespace orch::measure

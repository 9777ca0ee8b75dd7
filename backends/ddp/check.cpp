#include <cmath>

#include "backends/ddp/settings.h"
#include "backends/ddp/setup.h"
#include "core/price/backend/checks.h"

namespace orch::ddp {
namespace {

using namespace backend;

// The largest rank at which any matrix of a layer is still compressed; MLP matrices are largest.
double largest_rank(const DdpSetup& setup) {
  double best = 0;
  for (const auto& matrix : layer_matrices(setup.model.sizes))
    best = std::max(best, matrix.elements() / (matrix.rows + matrix.columns));
  return std::ceil(best / setup.powersgd.min_rate) - 1;
}

void check_powersgd(const BackendRun& run, const DdpSetup& setup, ProblemSink& problems) {
  if (setup.compression != Compression::powersgd) return;
  if (setup.model.sizes.mixture())
    return problems.reject("compression", "PowerSGD is not estimated for models with experts",
                           "try compression = 'none'");
  if (settings.powersgd_start(run) < 2)
    problems.reject("powersgd_start",
                    say("compression begins at step ", settings.powersgd_start(run),
                        ", before the buckets are final"),
                    "try powersgd_start = 10");
  if (setup.powersgd.rank > largest_rank(setup))
    problems.warn("powersgd_rank",
                  say("at rank ", setup.powersgd.rank, " no matrix of a layer shrinks by ",
                      setup.powersgd.min_rate, ": all are sent whole"),
                  say("try powersgd_rank = ", largest_rank(setup) >= 4 ? 4 : 1));
}

void check_compression(const BackendRun& run, const DdpSetup& setup, ProblemSink& problems) {
  const auto asked = settings.compression(run);
  if (setup.compression == Compression::none && asked != "none")
    problems.warn("compression", say("gradients have 16 bits already: ", asked, " changes nothing"),
                  "try compression = 'none' or 'powersgd'");
  if (setup.ranks == 1 && asked != "none")
    problems.warn("compression", "there is one rank: no gradient is sent",
                  "try compression = 'none'");
}

// Without gradient accumulation, two nodes were half as fast as one.
void check_accumulation(const BackendRun& run, const DdpSetup& setup, ProblemSink& problems) {
  if (run->nodes == 1 || run->accumulate > 1 || setup.compression == Compression::powersgd) return;
  const double each = setup.sends_half() ? 2 : setup.states.gradients;
  problems.warn("accumulate",
                say("every micro-batch sends ", PrintedBytes{each * setup.model.params()},
                    " of gradients over ", run->nodes, " nodes"),
                "try accumulate = 16 or more, or compression = powersgd{ rank = 4 }");
}

}  // namespace

void check_setup(const BackendRun& run, const DdpSetup& setup, ProblemSink& problems) {
  check_powersgd(run, setup, problems);
  check_compression(run, setup, problems);
  check_accumulation(run, setup, problems);
  check_gradient_sum(setup.dtype, setup.states.gradients, setup.micro_batches,
                     "try master_weights = true: fp32 weights and gradients", problems);
  check_attention(run, setup.model, problems);
}

}  // namespace orch::ddp

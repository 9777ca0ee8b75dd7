#include "core/run/follow/examine.h"

#include "core/base/sha256.h"
#include "core/base/text.h"
#include "core/run/store/run_folder.h"

namespace orch::follow {
namespace {

// The checksum of a file that executors run.
Result<std::string> sum_of(const fs::path& file, const std::string* before, bool trust) {
  if (!trust)
    if (auto status = store::check_ours(file); !status) return status.error();
  const auto text = read_file(file);
  if (!text) return text.error();
  auto sum = sha256(*text);
  if (!trust && before && *before != sum)
    return Error{printable(file.string()), "changed since it was submitted",
                 "look at what is in it; --trust submits it as it is"};
  return sum;
}

}  // namespace

Result<record::ScriptSums> examine(const fs::path& run_folder, const std::string& script,
                                   const record::ScriptSums* before, bool trust) {
  if (!trust)
    if (auto status = store::check_ours(run_folder); !status) return status.error();
  record::ScriptSums out;
  auto sum = sum_of(run_folder / script, before ? &before->script : nullptr, trust);
  if (!sum) return sum.error();
  out.script = std::move(*sum);
  const auto start = run_folder / "start";
  if (!is_there(start)) return out;
  sum = sum_of(start, before ? &before->start : nullptr, trust);
  if (!sum) return sum.error();
  out.start = std::move(*sum);
  return out;
}

}  // namespace orch::follow

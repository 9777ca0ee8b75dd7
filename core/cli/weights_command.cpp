#include <fmt/format.h>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/train/huggingface/huggingface.h"
#include "core/run/store/store.h"

namespace orch::cli {
namespace {

std::string describe(const plan::Model& m) {
  return fmt::format("{}: {} layers x {} hidden, {} heads, vocabulary {}, {} tokens", m.family,
                     m.layers, m.hidden, m.heads, m.vocab, m.seq);
}

checkpoint::Dtype dtype_of(const std::string& name) {
  if (name == "bf16") return checkpoint::Dtype::bf16;
  return name == "f16" ? checkpoint::Dtype::f16 : checkpoint::Dtype::f32;
}

Errors none_found(const ExportArguments& arguments, const checkpoint::Latest& latest) {
  Errors errors;
  for (const auto& reason : latest.skipped) errors.push_back(reason);
  const auto what = arguments.step < 0
                        ? std::string("no checkpoint here that is whole")
                        : fmt::format("no whole checkpoint of step {} here", arguments.step);
  errors.push_back({printable(arguments.from), what, "name a run folder or a checkpoint"});
  return errors;
}

}  // namespace

int export_command(const ExportArguments& arguments) {
  const auto step = arguments.step < 0 ? std::nullopt : std::optional(arguments.step);
  fs::path from = arguments.from;
  std::error_code unreadable;
  if (!fs::exists(from, unreadable)) {  // a run by its id, hash or beginning
    const auto found = store::Store(arguments.runs).find(arguments.from);
    if (!found) return fail(found.error(), kError);
    from = *found;
  }
  const auto latest = checkpoint::open_at(from, step);
  if (!latest.reader) return fail(none_found(arguments, latest), kError);
  for (const auto& reason : latest.skipped) note("warning: " + reason.text() + "\n");
  huggingface::ExportOptions options;
  options.dtype = dtype_of(arguments.dtype);
  options.architecture = arguments.architecture;
  const auto done = huggingface::export_model(*latest.reader, arguments.output, options);
  if (!done) return fail(done.error(), kError);
  print(fmt::format("{}\n{}, step {}, {} in {}, {} file{}: {}\n", describe(done->model),
                    done->class_name, done->step,
                    format_bytes(static_cast<double>(done->bytes)), arguments.dtype, done->files,
                    done->files == 1 ? "" : "s", printable(arguments.output)));
  return kOk;
}

int import_command(const ImportArguments& arguments) {
  const auto done = huggingface::import_model(arguments.from, arguments.output);
  if (!done) return fail(done.error(), kError);
  print(
      fmt::format("{}\n{} of weights in f32: {}\nbegin with them: training = {{ init = \"{}\" }}\n",
                  describe(done->model), format_bytes(static_cast<double>(done->bytes)),
                  printable(done->checkpoint.string()), printable(arguments.output)));
  return kOk;
}

}  // namespace orch::cli

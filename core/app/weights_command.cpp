#include <fmt/format.h>

#include "core/app/commands.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/run/store/store.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/train/huggingface/huggingface.h"

namespace orch::app {
namespace {

std::string describe(const plan::Model& m) {
  return fmt::format("{}: {} layers x {} hidden, {} heads, vocabulary {}, {} tokens", m.family,
                     m.layers, m.hidden, m.heads, m.vocab, m.seq);
}

checkpoint::TensorDtype dtype_of(const std::string& name) {
  if (name == "bf16") return checkpoint::TensorDtype::bf16;
  return name == "f16" ? checkpoint::TensorDtype::f16 : checkpoint::TensorDtype::f32;
}

Errors none_found(const ExportArguments& arguments, const checkpoint::LatestCheckpoint& latest) {
  Errors errors;
  for (const auto& reason : latest.skipped) errors.push_back(reason);
  const auto what = arguments.step < 0
                        ? std::string("no complete checkpoint")
                        : fmt::format("no complete checkpoint of step {}", arguments.step);
  errors.push_back({printable(arguments.from), what, "name a run folder or a checkpoint"});
  return errors;
}

}  // namespace

Ending export_command(const ExportArguments& arguments, Console& console) {
  const auto step = arguments.step < 0 ? std::nullopt : std::optional(arguments.step);
  fs::path from = arguments.from;
  std::error_code unreadable;
  if (!fs::exists(from, unreadable)) {  // a run by its id, hash or prefix
    const auto found = store::RunStore(arguments.runs).find(arguments.from);
    if (!found) return found.error();
    from = *found;
  }
  const auto latest = checkpoint::open_at(from, step);
  if (!latest.reader) return none_found(arguments, latest);
  for (const auto& reason : latest.skipped) console.note("warning: " + reason.text() + "\n");
  huggingface::ExportOptions options;
  options.dtype = dtype_of(arguments.dtype);
  options.architecture = arguments.architecture;
  const auto done = huggingface::export_model(*latest.reader, arguments.output, options);
  if (!done) return done.error();
  console.print(fmt::format("{}\n{}, step {}, {} in {}, {}: {}\n", describe(done->model),
                            done->class_name, done->step,
                            format_bytes(static_cast<double>(done->bytes)), arguments.dtype,
                            plural(done->files, "file"), printable(arguments.output)));
  return Exit::ok;
}

Ending import_command(const ImportArguments& arguments, Console& console) {
  const auto done = huggingface::import_model(arguments.from, arguments.output);
  if (!done) return done.error();
  console.print(
      fmt::format("{}\n{} of weights in f32: {}\nbegin with them: training = {{ init = \"{}\" }}\n",
                  describe(done->model), format_bytes(static_cast<double>(done->bytes)),
                  printable(done->checkpoint.string()), printable(arguments.output)));
  return Exit::ok;
}

}  // namespace orch::app

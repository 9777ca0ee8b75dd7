#include "core/run/render/framework_files.h"

#include "core/base/json_writer.h"

namespace orch::render {
namespace {

void write_list(JsonWriter& to, const char* key, const std::vector<Word>& words) {
  to.begin_list(key);
  for (const auto& word : words) to.item(word.text);
  to.end_list();
}

std::string launch_json(const Launch& launch, const plan::Run& run) {
  JsonWriter to;
  to.begin().field("version", std::int64_t{1}).field("framework", run.framework);
  write_list(to, "program", launch.program);
  write_list(to, "argv", launch.argv);
  to.begin("environment");
  for (const auto& [name, word] : launch.environment) to.field(name, word.text);
  to.end().begin_list("unequal");
  for (const auto& error : launch.unequal) to.item(error.place + ": " + error.fact);
  return std::move(to.end_list().end()).text();
}

}  // namespace

Result<std::vector<File>> launch_files(Template& start_template, const Launch& launch,
                                             const plan::Run& run, Context context) {
  context.launch = &launch;
  auto start = start_template.render(run, {plan::phases(run).back(), 1, 1}, context);
  if (!start) return start.error();
  auto files = launch.files;
  files.push_back({"start", std::move(*start)});
  files.push_back({"launch.json", launch_json(launch, run)});
  return files;
}

}  // namespace orch::render

#include "core/app/gather.h"
#include "core/record/published/table.h"
#include "core/record/records_json.h"
#include "core/show/tables/records.h"

namespace orch::app {
namespace {

Result<RecordList> read(Gatherer& gatherer, const IngestArguments& arguments) {
  if (!arguments.csv) return gatherer.logs(arguments.records.words);
  return all_of(arguments.records.words, [&](const auto& file) { return gatherer.table(file); });
}

// CSV in the schema that validate, calibrate and ingest --csv read.
std::string text_of(const RecordList& records, const Gatherer& gatherer,
                    const CommonArguments& common) {
  if (common.format == "json") return record::records_json(records);
  if (common.format == "csv") return published::rows_csv(gatherer.said());
  return show::text(tables::records_answer(records), common.screen);
}

}  // namespace

Ending ingest_command(App& app, const IngestArguments& arguments, Console& console) {
  Gatherer gatherer(app, arguments.records);
  const auto records = read(gatherer, arguments);
  if (!records) return {records.error(), interrupted() ? Exit::interrupted : Exit::error};
  gatherer.tell_passed(console);
  const auto& common = arguments.records.common;
  if (!records->empty() || common.format == "json")
    if (auto ended = put_out(text_of(*records, gatherer, common), arguments.records.output,
                             arguments.records.words, console);
        !ended.ok())
      return ended;
  if (!records->empty()) return Exit::ok;
  return Error{"orch ingest", "no run was found in what was named",
               "templates/logs/README.md says how to teach it another framework"};
}

}  // namespace orch::app

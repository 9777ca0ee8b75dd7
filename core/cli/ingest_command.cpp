#include "core/cli/exit.h"
#include "core/cli/record_output.h"
#include "core/record/published/table.h"
#include "core/record/records_json.h"
#include "core/show/tables/records.h"

namespace orch::cli {
namespace {

using Records = std::vector<record::Record>;

Result<Records> read(Gatherer& gatherer, const IngestArguments& arguments) {
  if (!arguments.csv) return gatherer.logs(arguments.records.words);
  Records out;
  Errors errors;
  for (const auto& file : arguments.records.words) {
    auto records = gatherer.table(file);
    if (!records)
      errors.insert(errors.end(), records.error().begin(), records.error().end());
    else
      std::move(records->begin(), records->end(), std::back_inserter(out));
  }
  if (!errors.empty()) return errors;
  return out;
}

// CSV is what validate, calibrate and ingest --csv read: the loop is closed.
std::string text_of(const Records& records, const Gatherer& gatherer, const Common& common) {
  if (common.format == "json") return record::records_json(records);
  if (common.format == "csv") return published::rows_csv(gatherer.said());
  if (common.format == "md") return tables::records_markdown(records);
  return tables::records_table(records, common.screen);
}

}  // namespace

int ingest_command(const IngestArguments& arguments) {
  auto app = App::create();
  if (!app) return fail(app.error(), kError);
  Gatherer gatherer(**app, gather_options(arguments.records));
  const auto records = read(gatherer, arguments);
  if (!records) return fail(records.error(), interrupted() ? kInterrupted : kError);
  tell_passed(gatherer);
  const auto& common = arguments.records.common;
  if (!records->empty() || common.format == "json")
    if (const int code = put_out(text_of(*records, gatherer, common), arguments.records.output,
                                 arguments.records.words);
        code != kOk)
      return code;
  if (!records->empty()) return kOk;
  return fail(Error{"orch ingest", "no run was found in what was named",
                    "templates/logs/README.md says how to teach it another framework"},
              kError);
}

}  // namespace orch::cli

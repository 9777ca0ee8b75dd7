#include "core/app/gather.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <unordered_map>

#include "core/app/rows.h"
#include "core/app/run_logs.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/planned.h"
#include "core/record/published/columns.h"
#include "core/record/published/doubts.h"
#include "core/record/published/said.h"
#include "core/record/published/samples.h"
#include "core/record/records_json.h"
#include "core/run/store/run_folder.h"
#include "core/run/store/store.h"
#include "core/show/compare/spikes.h"

namespace orch::app {
namespace {

using record::Record;

bool is_folder(const fs::path& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

// True if a file's name and content agree, since people name logs freely. A missing file is judged
// by its name.
bool looks_like(const fs::path& path, const char* part) {
  std::ifstream in(path);
  if (!in) return true;
  std::string head(8192, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find(part) != std::string::npos;
}

void append(RecordList& to, RecordList&& from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// Prints progress while a large file is read.
void show_progress(const ingest::BytesRead& progress) {
  constexpr std::uint64_t kLarge = 256 << 20;
  if (progress.of < kLarge || isatty(2) == 0) return;
  if (progress.bytes >= progress.of)
    std::fputs("\r\033[K", stderr);
  else
    std::fprintf(stderr, "\r%s: %.1f of %.1f GB", printable(progress.file).c_str(),
                 static_cast<double>(progress.bytes) / 1e9, static_cast<double>(progress.of) / 1e9);
}

// A log without an end belongs to a running job only if it grew recently.
void settle(Record& record) {
  constexpr double kLeast = 600, kSteps = 20;
  constexpr double kZones = 26 * 3600;  // the time zone of a log's dates is unknown
  if (record.state != record::RunState::running) return;
  std::error_code code;
  const auto written = fs::last_write_time(record.origin.file, code);
  const std::chrono::duration<double> age = fs::file_time_type::clock::now() - written;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  const auto& step = record.measured.step_seconds;
  const double most = std::max(kLeast, step ? kSteps * step->value : 0);
  const auto last = std::max(record.origin.start, record.origin.end);
  // A copy of an old log has a new modification time.
  const bool is_old = last > 0 && now.count() - last > most + kZones;
  if (code || age.count() > most || is_old) record.state = record::RunState::stopped;
  if (last > 0 || code) return;
  record.reason +=
      fmt::format("; {} by the file's age alone ({}): its lines have no dates",
                  record::name(record.state), format_seconds(std::max(0.0, age.count())));
}

Error nothing_named(const std::string& word) {
  return {printable(word),
          "not found: no file, experiment, run, row or published source has this name",
          "orch status lists runs, ls experiments/measured the published sources"};
}

std::string words(const Errors& errors) {
  std::vector<std::string> parts;
  for (const auto& error : errors)
    parts.push_back((error.place.empty() ? "" : error.place + ": ") + error.fact +
                    (error.fix.empty() ? "" : " (" + error.fix + ")"));
  return join(parts, "; ");
}

// Marks the values that had to be assumed for the estimate.
void note_assumed(const published::PublishedSample& sample, Record& record) {
  if (sample.assumed.empty()) return;
  if (!record.notes.empty()) record.notes += "; ";
  record.notes += "taken for the estimate: " + join(sample.assumed, "; ");
}

// If the measured memory is that of the first stage, or of tensors alone, the estimate is reduced
// to the same.
void as_measured(plan::Estimate& out, plan::MemoryOf what) {
  const double share = out.memory_of(what) / out.peak_memory;
  out.peak_memory *= share;
  out.memory_low *= share;
  out.memory_high *= share;
}

// Tables omit what is usual, but the model of a log may have any size.
std::string why_open(const Record& said) {
  std::vector<std::string> open;
  for (const auto* name : {"layers", "hidden", "seq"})
    if (said.origin.kind == "log" && !said.field(name)) open.emplace_back(name);
  if (open.empty()) return "";
  return fmt::format("the log does not say {}; --set {}=N does", and_list(open),
                     join(open, "=N --set "));
}

void add_estimate(App& app, const Result<published::PublishedSample>& sample, Record& record) {
  if (record.not_estimated = why_open(record); !record.not_estimated.empty()) return;
  if (!sample) {
    record.not_estimated = words(sample.error());
    return;
  }
  const auto planned = app.explain(sample->run, backend::WorkTexts::names);
  if (!planned) {
    record.not_estimated = words(planned.error());
    return;
  }
  // A row is compared with the machine's constants at the row's date.
  const double era = sample->run.partition->era(sample->date);
  record.estimated = record::estimated_of(planned->estimate, era);
  as_measured(*record.estimated, sample->memory_of);
  record.origin.cluster_file = sample->run.cluster->file;
  // The length of training is unknown: 100B tokens are only a unit.
  record.estimated->forget_length();
  if (!record.measured.step_seconds && sample->step_seconds)
    record.measured.step_seconds = statistics::Interval{*sample->step_seconds, {}, {}, 1};
  note_assumed(*sample, record);
}

// Marks printed TFLOPs as doubtful if they are too far from ours. A framework's own convention is
// unknown, but with or without recomputation, embeddings and attention, a step's FLOPs differ by
// half at most.
void doubt_printed(Record& record) {
  constexpr double kFurthest = 1.5;
  const auto& tflops = record.measured.tflops;
  for (const auto& printed : tflops)
    for (const auto& ours : tflops) {
      if (printed.convention != "log" || !ours.computed) continue;
      const double ratio = printed.value / ours.value;
      if (ratio > 1 / kFurthest && ratio < kFurthest) continue;
      record.doubts.push_back(
          {"tflops", "tflops_per_gpu",
           fmt::format(
               "the log prints {:.4g} TFLOPs per GPU, {:.4g} follow from the time of a step, "
               "the model, the batch and the GPUs that it names ({})",
               printed.value, ours.value, ours.convention)});
    }
}

double peak_tflops(const plan::Gpu& gpu) {
  return std::max(gpu.peak("fp16").value, gpu.peak("bf16").value) / 1e12;
}

// If no GPU is named, the fastest known one is the limit.
published::FindGpu gpu_finder(App& app) {
  const auto catalog = app.clusters().gpus();
  const auto gpus = catalog ? *catalog : hardware::GpuCatalog();
  double fastest = 0;
  for (const auto& [other, entry] : gpus) fastest = std::max(fastest, peak_tflops(entry.gpu));
  return [gpus, fastest](const Record& said) -> std::optional<published::GpuFacts> {
    const auto name = said.field_text("gpu");
    if (name.empty() && fastest > 0) return published::GpuFacts{fastest, 0};
    const auto found = gpus.find(published::plain_gpu(name));
    if (found == gpus.end()) return std::nullopt;
    const auto& gpu = found->second.gpu;
    return published::GpuFacts{peak_tflops(gpu), gpu.memory.value / kGiB};
  };
}

RecordSet record_set(App& app, RecordList records) {
  auto doubts = published::doubts(records, gpu_finder(app));
  published::PeerRows peers(records);
  return {std::move(records), std::move(peers), std::move(doubts)};
}

}  // namespace

Gatherer::Gatherer(App& app, const RecordArguments& arguments) : app_(app), arguments_(arguments) {
  const auto& words = arguments.words;
  const bool experiments =
      !words.empty() && std::all_of(words.begin(), words.end(),
                                    [](const auto& word) { return word.ends_with(".lua"); });
  for (const auto& text : arguments.set) {
    const auto path = text.substr(0, text.find('='));
    const bool is_change = experiments || path.find('.') != std::string::npos;
    (is_change ? changes_ : set_).push_back(text);
  }
}

bool Gatherer::is_place(const std::string& word) const {
  if (word == "-" || is_there(word) || is_there(app_.places().measured() / (word + ".csv")))
    return true;
  const auto experiments = store::experiments(arguments_.runs);
  return std::find(experiments.begin(), experiments.end(), word) != experiments.end() ||
         store::RunStore(arguments_.runs).find(word).has_value();
}

Result<RecordList> Gatherer::find(const std::string& word) {
  const fs::path path = word;
  if (word.ends_with(".lua") && looks_like(path, "experiment")) return experiment(word);
  if (word.ends_with(".csv") && looks_like(path, "gpus")) return table(path);
  if (word.ends_with(".json") && looks_like(path, "\"records\"")) {
    constexpr std::size_t kLargest = std::size_t{1} << 30;  // --format json of 200,000 runs
    const auto text = read_file(path, kLargest);
    if (!text) return text.error();
    return record::parse_records_json(*text, printable(word));
  }
  if (is_there(path / "run.json")) return run_folder(path);
  if (is_folder(path) && !store::experiments(path).empty()) return every_run(path);
  if (const auto name = path.filename().string(); is_folder(path) && !store::run_ids(path).empty())
    return run_records(app_, fs::absolute(path).lexically_normal().parent_path(), name, {},
                       troubles_);
  if (is_there(path) || word == "-") return logs({word});
  if (const auto file = app_.places().measured() / (word + ".csv"); is_there(file))
    return table(file);
  const auto experiments = store::experiments(arguments_.runs);
  if (std::find(experiments.begin(), experiments.end(), word) != experiments.end())
    return run_records(app_, arguments_.runs, word, {}, troubles_);
  if (const auto folder = store::RunStore(arguments_.runs).find(word)) return run_folder(*folder);
  return row(word);
}

Result<RecordList> Gatherer::experiment(const std::string& file) {
  auto outcome = app_.plan({file, changes_}, {.start = {}, .runs = arguments_.runs, .items = true});
  if (!outcome) return outcome.error();
  RecordList out;
  std::vector<std::string> ids;
  const auto name = outcome->experiment.name;
  const auto there = store::run_ids(fs::path(arguments_.runs) / name);
  for (auto& planned : outcome->runs) {
    ids.push_back(planned.run.id);
    out.push_back(record::planned_record(planned, file));
    planned.estimate.time.clear();  // the record already has them
  }
  experiments_.push_back(std::move(*outcome));
  if (there.empty()) return out;
  auto done = run_records(app_, arguments_.runs, name, ids, troubles_);
  if (!done) return done.error();
  std::unordered_map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < ids.size(); ++i) place.emplace(ids[i], i);
  for (auto& record : *done)
    if (const auto found = place.find(record.id); found != place.end())
      out[found->second] = std::move(record);
  return out;
}

Result<RecordList> Gatherer::run_folder(const fs::path& folder) {
  const auto whole = fs::weakly_canonical(folder);
  const auto experiment = whole.parent_path();
  return run_records(app_, experiment.parent_path(), experiment.filename().string(),
                     {whole.filename().string()}, troubles_);
}

Result<RecordList> Gatherer::every_run(const fs::path& root) {
  RecordList out;
  for (const auto& name : store::experiments(root)) {
    auto found = run_records(app_, root, name, {}, troubles_);
    if (!found) return found.error();
    append(out, std::move(*found));
  }
  return out;
}

Status Gatherer::set_cells(Record& record) const {
  Errors errors;
  for (const auto& word : set_) {
    const auto equals = word.find('=');
    if (equals == std::string::npos)
      errors.push_back(
          {"--set " + printable(word), "has no '='", "write name=value, as in --set gpu=a100-80g"});
    else
      errors.add(
          published::set_cell(record, trim(word.substr(0, equals)), word.substr(equals + 1)));
  }
  return errors;
}

// "a100" stands for a100-40g and a100-80g.
static Status check_gpu(const std::string& said, const hardware::GpuCatalog& gpus) {
  const auto gpu = published::plain_gpu(said);
  for (const auto& [name, entry] : gpus)
    if (name == gpu || name.starts_with(gpu + "-")) return {};
  return Error{"--set gpu", fmt::format("no GPU '{}'", printable(said)),
               suggestion(gpu, all_names(gpus)) + "; gpus.yaml can describe another"};
}

static Status check_dtype(const std::string& said, const hardware::GpuCatalog& gpus) {
  std::set<std::string> formats;
  for (const auto& [name, entry] : gpus)
    for (const auto& [format, peak] : entry.gpu.peaks) formats.insert(format);
  if (formats.contains(said)) return {};
  return Error{"--set dtype", fmt::format("no GPU computes in '{}'", printable(said)),
               suggestion(said, std::vector<std::string>(formats.begin(), formats.end()))};
}

Result<ingest::KnownFacts> Gatherer::known_cells() const {
  Record probe;
  if (auto status = set_cells(probe); !status) return status.error();
  const auto gpu = probe.field_text("gpu"), dtype = probe.field_text("dtype");
  if (!gpu.empty() || !dtype.empty()) {
    const auto gpus = app_.clusters().gpus();
    if (!gpus) return gpus.error();
    Errors errors;
    if (!gpu.empty()) errors.add(check_gpu(gpu, *gpus));
    if (!dtype.empty()) errors.add(check_dtype(dtype, *gpus));
    if (!errors.empty()) return errors;
  }
  return published::cells_of(probe);
}

Result<const RecordSet*> Gatherer::read(const fs::path& file) {
  if (const auto known = tables_.find(file); known != tables_.end()) return &known->second;
  if (auto status = check_cluster(app_, arguments_.cluster); !status) return status.error();
  if (const auto known = known_cells(); !known) return known.error();
  auto rows = read_table(app_, file);
  if (!rows) return rows.error();
  for (auto& row : *rows)
    if (auto status = set_cells(row); !status) return status.error();
  return &tables_.emplace(file, record_set(app_, std::move(*rows))).first->second;
}

Result<RecordList> Gatherer::table(const fs::path& file) {
  const auto rows = read(file);
  if (!rows) return rows.error();
  return judge(**rows);
}

Result<RecordList> Gatherer::row(const std::string& id) {
  const auto files = shipped_tables(app_);
  if (!files) return files.error();
  for (const auto& file : *files) {
    const auto text = read_file(file);
    if (text && text->find(id) == std::string::npos)
      continue;  // a fast test before parsing all cells
    const auto rows = read(file);
    if (!rows) return rows.error();
    if (auto found = judge(**rows, id); !found.empty()) return found;
  }
  return nothing_named(id);
}

Result<RecordList> Gatherer::said_in_logs(const std::vector<std::string>& paths) {
  if (auto status = check_cluster(app_, arguments_.cluster); !status) return status.error();
  const auto patterns = load_patterns(app_.places().logs(), arguments_.patterns);
  if (!patterns) return patterns.error();
  const auto known = known_cells();
  if (!known) return known.error();
  auto found = ingest::ingest(paths, *patterns,
                              {.set = *known,
                               .beside = known_beside,
                               .interrupted = interrupted,
                               .progress = show_progress});
  if (!found) return found.error();
  passed_.insert(passed_.end(), found->passed.begin(), found->passed.end());
  for (auto& run : found->runs) {
    if (auto status = set_cells(run); !status) return status.error();
    settle(run);
    run.measured.spikes = compare::find_spikes(run.measured.losses, run.measured.resumes);
  }
  return std::move(found->runs);
}

Result<RecordList> Gatherer::logs(const std::vector<std::string>& paths) {
  auto runs = said_in_logs(paths);
  if (!runs) return runs;
  return judge(record_set(app_, std::move(*runs)));
}

// Completes each record with its estimate, or the reason why there is none, and its doubts; with an
// id, only the first record with that id. The cluster is for records with an unknown site.
RecordList Gatherer::judge(const RecordSet& said, const std::string& id) {
  const auto clusters = machines(app_, arguments_.cluster);
  const auto strategies = app_.backends().strategies();
  const auto check = check_backend(app_);
  RecordList out;
  for (std::size_t i = 0; i < said.records.size() && (id.empty() || out.empty()); ++i) {
    if (!id.empty() && said.records[i].id != id) continue;
    auto& as_said = said_.emplace_back(said.records[i]);
    auto& record = out.emplace_back(as_said);
    published::complete(record);
    add_estimate(app_, published::to_run(as_said, said.peers, clusters, strategies, check), record);
    published::add_tflops(record);
    doubt_printed(record);
    record.doubts.insert(record.doubts.end(), said.doubts[i].begin(), said.doubts[i].end());
    name_cluster(arguments_.cluster, as_said);
  }
  return out;
}

void name_cluster(const std::string& cluster, Record& said) {
  if (!cluster.empty() && !said.field("cluster")) said.set("cluster", cluster);
}

Status check_output(const std::string& file, const std::vector<std::string>& inputs) {
  for (const auto& input : inputs) {
    std::error_code code;
    if (fs::equivalent(file, input, code) && fs::is_regular_file(file, code))
      return Error{printable(file), "is one of the inputs and would be overwritten",
                   "give another file with -o"};
  }
  return {};
}

Ending put_out(const std::string& text, const std::string& file,
               const std::vector<std::string>& inputs, Console& console) {
  if (file.empty() || file == "-") {
    console.print(text);
    return Exit::ok;
  }
  if (auto status = check_output(file, inputs); !status) return {status.error(), Exit::usage};
  if (auto status = write_output(file, text); !status) return status.error();
  console.note("written: " + printable(file) + "\n");
  return Exit::ok;
}

Ending put_out(const show::Answer& answer, const CommonArguments& common, const std::string& file,
               const std::vector<std::string>& inputs, Console& console) {
  if (!file.empty() && file != "-")
    return put_out(show::text_as(common.format, answer, common.screen), file, inputs, console);
  common.give(answer, console);
  return Exit::ok;
}

Result<RecordList> all_of(const std::vector<std::string>& words, const FindRecords& find) {
  RecordList out;
  Errors errors;
  for (const auto& word : words) {
    auto records = find(word);
    if (errors.add(records)) append(out, std::move(*records));
  }
  if (!errors.empty()) return errors;
  return out;
}

Result<RecordList> Gatherer::find_all(const std::vector<std::string>& words, Console& console) {
  auto records = all_of(words, [&](const auto& word) { return find(word); });
  if (records) tell_passed(console);
  return records;
}

void Gatherer::tell_passed(Console& console) const {
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < passed_.size() && i < kShown; ++i)
    console.note(
        fmt::format("skipped: {}: {}\n", printable(passed_[i].file), printable(passed_[i].reason)));
  if (passed_.size() > kShown)
    console.note(fmt::format("skipped: {} more files\n", passed_.size() - kShown));
  console.complain(troubles_);
}

}  // namespace orch::app

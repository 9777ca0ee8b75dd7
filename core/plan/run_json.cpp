#include "core/plan/run_json.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "core/base/json_fields.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/plan/check.h"
#include "core/plan/family.h"
#include "core/plan/fields.h"
#include "core/plan/model_json.h"
#include "core/plan/run_fields.h"

namespace orch::plan {
namespace {

using SortedJson = nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kLargest = std::size_t{1} << 20;
constexpr auto kAgain = "plan the experiment again";
constexpr std::string_view kChecksum = ",\n  \"checksum\": \"";

// --- writing
// --------------------------------------------------------------------------------------

void write(JsonWriter& to, std::string_view key, const Value& value) {
  std::visit(
      [&](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          to.null(key);
        else
          to.field(key, held);
      },
      value);
}

// False for sizes that the model's family fixes and for rare fields that have their default.
bool is_said(const Run& run, const RunField& field) {
  if (field.size()) return is_open(run.model, *field.size());
  return !field.only_if_given || get(run, field) != field.param.default_value;
}

void write_section(JsonWriter& to, const Run& run, std::string_view section) {
  for (const auto& field : run_fields())
    if (field.section == section && is_said(run, field))
      write(to, field.param.name, get(run, field));
}

void write_job(JsonWriter& to, const Run& run) {
  to.begin("job");
  write_section(to, run, "job");
  if (run.job.spare_nodes) to.field("spare_nodes", *run.job.spare_nodes);
  to.begin_list("options");
  for (const auto& option : run.job.options) to.item(option);
  to.end_list().begin("environment");
  for (const auto& [variable, value] : run.job.environment) to.field(variable, value);
  to.end();
  if (!run.job.expanded.empty()) {
    to.begin_list("expanded");
    for (const auto& variable : run.job.expanded) to.item(variable);
    to.end_list();
  }
  to.end();
}

void write_container(JsonWriter& to, const Run& run) {
  if (!run.job.container.given()) return;
  to.begin("container");
  write_section(to, run, "container");
  to.begin_list("mounts");
  for (const auto& mount : run.job.container.mounts) to.item(mount);
  to.end_list().end();
}

std::string checksum_of(std::string_view body) { return fmt::format("{:016x}", stable_hash(body)); }

// --- reading
// --------------------------------------------------------------------------------------

class RunReader {
 public:
  RunReader(const SortedJson& json, std::string place) : json_(json), place_(std::move(place)) {}

  Result<Run> read();

 private:
  // The section of this name; an empty one where it is missing or null.
  const SortedJson& section(std::string_view name);
  void complain(std::string_view path, std::string fact, std::string fix = kAgain) {
    errors_.push_back({at(path), std::move(fact), std::move(fix)});
  }
  std::string at(std::string_view path) const { return fmt::format("{}: {}", place_, path); }
  // The value converted to the parameter's type, or nothing with a problem noted.
  std::optional<Value> conformed(const Param& param, const SortedJson& held, std::string_view path);
  std::string text(std::string_view name, bool required = false);

  void reject_unknown();
  void read_fields();
  void read_family();
  void read_strategy();
  void read_cluster();
  void read_training();
  void read_job();
  void read_args();

  const SortedJson& json_;
  std::string place_;
  Errors errors_;
  std::set<std::string, std::less<>> told_;  // sections that are not objects
  Run run_;
};

const SortedJson& RunReader::section(std::string_view name) {
  static const SortedJson kNone = SortedJson::object();
  if (name.empty()) return json_;
  const auto found = json_.find(std::string(name));
  if (found == json_.end() || found->is_null()) return kNone;
  if (found->is_object()) return *found;
  if (told_.emplace(name).second) complain(name, "is not an object");
  return kNone;
}

// Fields that a newer orch wrote and this one does not know would be ignored, so they are errors.
void RunReader::reject_unknown() {
  std::map<std::string_view, std::vector<std::string>> known{
      {"",
       {"version", "id", "strategy", "backend", "backend_version", "cluster", "partition", "gpu",
        "gpus_per_node", "args", "model", "rampup", "settings", "training", "job", "container",
        "checksum"}},
      {"model", {"family"}},
      {"rampup", {}},
      {"job", {"spare_nodes", "options", "environment", "expanded"}},
      {"container", {"mounts"}}};
  for (const auto& field : run_fields())
    if (!field.size() || is_open(run_.model, *field.size()))
      known[field.section].push_back(field.param.name);
  for (const auto& [name, fields] : known)
    for (const auto& [key, held] : section(name).items())
      if (!contains(fields, key))
        complain((name.empty() ? "" : std::string(name) + ".") + printable(key), "no such field",
                 suggestion(key, fields));
}

std::optional<Value> RunReader::conformed(const Param& param, const SortedJson& held,
                                          std::string_view path) {
  auto value = conform(param, from_json(held), at(path));
  return errors_.add(value) ? std::optional(*value) : std::nullopt;
}

std::string RunReader::text(std::string_view name, bool required) {
  const auto found = json_.find(std::string(name));
  const auto* held = found == json_.end() ? nullptr : found->get_ptr<const std::string*>();
  if (held && (!required || !held->empty())) return *held;
  if (required || found != json_.end()) complain(name, held ? "is empty" : "is not a string");
  return {};
}

void RunReader::read_fields() {
  if (!section("rampup").empty()) run_.batch.rampup.emplace();
  for (const auto& field : run_fields()) {
    if (field.size() || (field.section == "rampup" && !run_.batch.rampup)) continue;
    const auto& from = section(field.section);
    const auto held = from.find(field.param.name);
    if (held != from.end()) {
      if (const auto value = conformed(field.param, *held, field.path())) set(run_, field, *value);
    } else if (!conform(field.param, field.param.default_value, "")) {
      complain(field.path(), "is missing");
    }
  }
}

// Must come first: the family determines which fields a model has.
void RunReader::read_family() {
  auto model = read_model(section("model"), at("model"));
  if (model) {
    run_.model = std::move(*model);
    return;
  }
  for (auto error : model.error()) {
    if (error.fix.empty()) error.fix = kAgain;
    errors_.push_back(std::move(error));
  }
}

// The strategy as far as the document has it: the names and value types of parameters.
void RunReader::read_strategy() {
  auto strategy = std::make_shared<Strategy>();
  strategy->name = text("strategy", true);
  strategy->backend = text("backend", true);
  strategy->backend_version = text("backend_version");
  if (!is_plain_name(strategy->backend) && !strategy->backend.empty())
    complain("backend", fmt::format("'{}' is not a backend", printable(strategy->backend)));
  std::vector<Value> values;
  for (const auto& [name, held] : section("settings").items()) {
    Param param;
    param.name = name;
    param.type = held.is_boolean()          ? ParamType::boolean
                 : held.is_number_integer() ? ParamType::integer
                 : held.is_number()         ? ParamType::real
                                            : ParamType::text;
    strategy->params.push_back(std::move(param));
    values.push_back(from_json(held));
  }
  run_.settings = std::move(values);
  run_.strategy = std::move(strategy);
}

void RunReader::read_cluster() {
  auto cluster = std::make_shared<Cluster>();
  cluster->name = text("cluster");
  auto& partition = cluster->partitions.emplace_back();
  partition.name = text("partition");
  partition.gpu.name = text("gpu");
  partition.gpus_per_node = run_.gpus;
  if (const auto held = json_.find("gpus_per_node"); held != json_.end())
    if (const auto value = conformed(param_of(Field::gpus_per_node), *held, "gpus_per_node"))
      partition.gpus_per_node = std::get<std::int64_t>(*value);
  run_.partition = &partition;
  run_.cluster = std::move(cluster);
}

void RunReader::read_training() {
  const auto& held = section("training");
  std::set<std::string> given;
  for (const auto& [name, value] : held.items()) {
    const auto path = "training." + printable(name);
    given.insert(name);
    if (const auto* field = find_training_field(name)) {
      if (const auto found = conformed(field->param, value, path))
        set(run_.training, *field, *found);
    } else {
      complain(path, "no such field", suggestion(name, training_names()));
    }
  }
  fill_in(run_.training, given);
  const auto wrong = check_training(run_.training, at("training"));
  errors_.insert(errors_.end(), wrong.begin(), wrong.end());
}

void RunReader::read_job() {
  JsonFields job(section("job"));
  if (job.has("spare_nodes")) run_.job.spare_nodes = job.whole("spare_nodes");
  if (job.has("options")) run_.job.options = job.texts("options");
  if (job.has("environment")) {
    auto variables = job.object("environment");
    for (const auto& name : variables.keys()) run_.job.environment[name] = variables.text(name);
  }
  if (job.has("expanded"))
    for (const auto& name : job.texts("expanded")) run_.job.expanded.insert(name);
  for (const auto& problem : job.problems()) complain("job", problem);
  JsonFields container(section("container"));
  if (container.has("mounts")) run_.job.container.mounts = container.texts("mounts");
  for (const auto& problem : container.problems()) complain("container", problem);
}

void RunReader::read_args() {
  JsonFields top(json_);
  if (top.has("args")) run_.args = top.texts("args");
  for (const auto& problem : top.problems()) complain("args", problem);
}

Result<Run> RunReader::read() {
  if (json_.value("version", SortedJson()) != kVersion)
    return Error{place_, "was written by another version of orch", kAgain};
  run_.id = text("id");
  read_family();
  reject_unknown();
  read_fields();
  read_strategy();
  read_cluster();
  read_training();
  read_job();
  read_args();
  if (run_.stack.empty()) run_.stack = default_stack(run_);
  if (run_.tokens == 0 && run_.steps == 0)
    complain("tokens", "neither tokens nor steps are given", "give one of them");
  if (!errors_.empty()) return errors_;
  std::vector<Error> wrong;
  check_sizes(run_, wrong);
  for (auto& reason : wrong) complain(reason.place, reason.fact, reason.fix);
  if (!errors_.empty()) return errors_;
  return std::move(run_);
}

// The part that the checksum covers; the whole text where there is none.
std::string_view body_of(std::string_view text) { return text.substr(0, text.rfind(kChecksum)); }

}  // namespace

std::string run_json(const Run& run) {
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{kVersion})
      .field("id", run.id)
      .field("strategy", run.strategy->name)
      .field("backend", run.strategy->backend)
      .field("backend_version", run.strategy->backend_version)
      .field("cluster", run.cluster->name)
      .field("partition", run.partition->name)
      .field("gpu", run.partition->gpu.name)
      .field("gpus_per_node", run.partition->gpus_per_node);
  write_section(to, run, "");
  if (!run.args.empty()) {
    to.begin_list("args");
    for (const auto& word : run.args) to.item(word);
    to.end_list();
  }
  to.begin("model").field("family", run.model.family);
  write_section(to, run, "model");
  to.end();
  if (run.batch.rampup) {
    to.begin("rampup");
    write_section(to, run, "rampup");
    to.end();
  }
  to.begin("settings");
  for (std::size_t i = 0; i < run.settings.size(); ++i)
    write(to, run.strategy->params[i].name, run.settings[i]);
  to.end().begin("training");
  for (const auto& field : training_fields()) write(to, field.param.name, get(run.training, field));
  to.end();
  write_job(to, run);
  write_container(to, run);
  auto text = std::move(to.end()).text();
  text.resize(text.size() - std::string_view("\n}\n").size());
  const auto checksum = checksum_of(text);
  return fmt::format("{}{}{}\"\n}}\n", text, kChecksum, checksum);
}

Result<Run> parse_run(const std::string& text, const std::string& place) {
  const auto json = parse_json(text);
  if (!json.is_object()) return Error{place, "is not a JSON object", kAgain};
  if (json.contains("checksum") && json["checksum"] != checksum_of(body_of(text)))
    return Error{place, "was changed after the run was planned",
                 "plan the experiment again, or put the folder's own run.json back"};
  return RunReader(json, place).read();
}

Result<Run> read_run(const fs::path& file) {
  const auto text = read_if_there(file, kLargest);
  if (!text) return text.error();
  const auto place = printable(file.string());
  if (!*text) return Error{place, "is missing", kAgain};
  return parse_run(**text, place);
}

Status check_frozen(const std::string& text, const fs::path& file) {
  const auto place = printable(file.string());
  const auto run = parse_run(text, place);
  if (!run) return run.error();
  if (run->id == fs::weakly_canonical(file).parent_path().filename().string()) return {};
  return Error{place, "is not the file that this folder was written with",
               "plan the experiment again, or put the folder's own run.json back"};
}

namespace {

Result<StrategyPtr> find_strategy(const Run& run, const std::string& place,
                                  const std::vector<StrategyPtr>& strategies) {
  std::vector<std::string> names;
  for (const auto& strategy : strategies) {
    names.push_back(strategy->name);
    if (strategy->name == run.strategy->name) return strategy;
  }
  return Error{place,
               fmt::format("no backend offers the strategy '{}'", printable(run.strategy->name)),
               suggestion(run.strategy->name, names)};
}

}  // namespace

Status bind(Run& run, const std::string& place, const std::vector<StrategyPtr>& strategies,
            const FindCluster& find_cluster) {
  const auto strategy = find_strategy(run, place, strategies);
  if (!strategy) return strategy.error();
  std::vector<Value> settings;
  for (const auto& param : (*strategy)->params) {
    auto value = run.setting(param.name);
    if (!is_given(value)) value = param.default_value;
    if (is_given(value)) {  // JSON writes the real number 25 like an integer
      const auto conformed = conform(param, value, place + ": settings." + param.name);
      if (!conformed) return conformed.error();
      value = *conformed;
    }
    settings.push_back(std::move(value));
  }
  const auto cluster = find_cluster(run.cluster->name);
  if (!cluster) return cluster.error();
  const auto* partition = (*cluster)->find(run.partition->name);
  if (!partition)
    return Error{place,
                 fmt::format("{} has no partition '{}' any more", (*cluster)->name,
                             printable(run.partition->name)),
                 kAgain};
  run.strategy = *strategy;
  run.settings = std::move(settings);
  run.cluster = *cluster;
  run.partition = partition;
  return {};
}

}  // namespace orch::plan

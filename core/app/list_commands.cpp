#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/app/stacks_list.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/hardware/write.h"
#include "core/plan/training.h"
#include "core/plan/tunable.h"
#include "core/show/tables/json.h"

namespace orch::app {
namespace {

using Json = nlohmann::ordered_json;
using show::Rows;

std::string kind_of(const plan::Param& param) {
  if (param.type == plan::ParamType::choice) return join(param.choices, " | ");
  const std::string range =
      param.min == 0 && param.max == 0 ? "" : fmt::format(" {:g}..{:g}", param.min, param.max);
  return std::string(plan::name(param.type)) + range;
}

Json param_json(const plan::Param& param) {
  return {{"name", param.name},
          {"type", kind_of(param)},
          {"default",
           plan::is_given(param.default_value) ? Json(plan::plain(param.default_value)) : Json()},
          {"doc", param.doc}};
}

Json backends_json(const backend::Backends& backends) {
  Json list = Json::array();
  for (const auto& backend : backends.all()) {
    Json strategies = Json::array();
    for (const auto& strategy : backend.strategies()) {
      strategies.push_back({{"name", strategy->name},
                            {"doc", strategy->doc},
                            {"params", mapped(strategy->params, param_json)}});
    }
    list.push_back({{"name", backend.name()},
                    {"version", backend.version()},
                    {"doc", backend.doc()},
                    {"file", backend.file().string()},
                    {"strategies", std::move(strategies)}});
  }
  const auto training = mapped(plan::training_fields(), &plan::TrainingField::param);
  return {
      {"version", 1}, {"backends", std::move(list)}, {"training", mapped(training, param_json)}};
}

Rows param_rows(const std::vector<plan::Param>& params) {
  Rows rows{{"parameter", "default", "values", "what"}};
  for (const auto& param : params)
    rows.push_back(
        {param.name,
         plan::is_given(param.default_value) ? plan::plain(param.default_value) : "required",
         kind_of(param), param.doc});
  return rows;
}

// The section that every strategy shares.
std::string training_text(const Common& common) {
  const auto params = mapped(plan::training_fields(), &plan::TrainingField::param);
  return "training = {}: how the runs of an experiment learn, whatever their strategy\n" +
         show::grid(param_rows(params), common.screen);
}

// "0.4 to 0.19"; any, where a template needs none.
std::string versions_text(const std::vector<std::string>& versions) {
  if (versions.empty()) return "any";
  return versions.size() > 3 ? versions.front() + " to " + versions.back() : join(versions, ", ");
}

// Who else may train a strategy; a template that cannot be read says so in its row.
std::string frameworks_text(App& app, const Common& common) {
  Rows rows{{"framework", "versions", "what"}};
  for (const auto& name : app.frameworks().names()) {
    const auto about = app.frameworks().about(name);
    rows.push_back({name, about ? versions_text(about->versions) : "",
                    about ? about->doc : about.error().front().text()});
  }
  return "framework = \"name@version\": the programs that a strategy may be trained by instead of "
         "ours\n" +
         show::grid(rows, common.screen);
}

// "a doc (like dgx-h100)".
std::string described(const plan::Cluster& cluster) {
  const auto like = "like " + cluster.like;
  if (cluster.like.empty() || cluster.doc == like) return cluster.doc;
  return fmt::format("{} ({})", cluster.doc, like);
}

Json constant_json(const plan::Constant& constant) {
  return {{"value", constant.value}, {"origin", constant.origin}};
}

Json partition_json(const plan::Partition& partition) {
  const auto& gpu = partition.gpu;
  Json peaks;
  for (const auto& [format, peak] : gpu.peaks) peaks[format] = constant_json(peak);
  return {{"name", partition.name},
          {"gpu", gpu.name},
          {"gpus_per_node", partition.gpus_per_node},
          {"gpus_per_domain", partition.domain()},
          {"nodes", partition.nodes},
          {"memory_bytes", constant_json(gpu.memory)},
          {"memory_bandwidth", constant_json(gpu.memory_bandwidth)},
          {"peak", std::move(peaks)},
          {"intra_node_bandwidth", constant_json(partition.intra_node.bandwidth)},
          {"network_bandwidth", constant_json(partition.network.bandwidth)}};
}

// One partition's numbers with their origins, by the names that they have in its file.
Rows constant_rows(const plan::Partition& partition) {
  Rows rows{{"constant", "value", "origin"}};
  for (const auto& [name, value, constant] : hardware::named_constants(partition))
    rows.push_back({name, value, constant.origin});
  return rows;
}

// What measured rows say instead, for the runs of some backends.
Rows fitted_rows(const plan::Calibration& calibration) {
  Rows rows{{"fitted", "value", "origin"}};
  for (const auto& tunable : plan::all_tunables()) {
    const auto found = calibration.constants.find(std::string(tunable.name));
    if (found == calibration.constants.end()) continue;
    const auto& [name, constant] = *found;
    rows.push_back({name, plan::shown(name, constant.value), constant.origin});
  }
  for (const auto& era : calibration.eras)
    rows.push_back(
        {"time until " + era.until, fmt::format("{:.4g}", era.time.value), era.time.origin});
  return rows;
}

Json fitted_json(const plan::Partition& partition) {
  if (!partition.calibration) return nullptr;
  const auto& calibration = *partition.calibration;
  Json constants = Json::object(), eras = Json::array();
  for (const auto& [name, constant] : calibration.constants)
    constants[name] = constant_json(constant);
  for (const auto& era : calibration.eras)
    eras.push_back({{"until", era.until}, {"time", constant_json(era.time)}});
  return {{"rows", calibration.seen.rows}, {"constants", constants}, {"eras", eras}};
}

// Where a cluster and its GPUs are from, and what they are like.
std::string origin_text(hardware::Catalog& catalog, const plan::Cluster& cluster) {
  auto out = fmt::format("{}read from {}\n",
                         cluster.like.empty() ? "" : "like " + cluster.like + "; ", cluster.file);
  const auto gpus = catalog.gpus();
  std::set<std::string> told;
  for (const auto& partition : cluster.partitions)
    if (const auto gpu = gpus->find(partition.gpu.name);
        gpu != gpus->end() && told.insert(gpu->first).second)
      out += fmt::format("{}: {}{}\n", gpu->first,
                         gpu->second.like.empty() ? "" : "like " + gpu->second.like + "; ",
                         "read from " + gpu->second.file);
  return out;
}

Ending show_cluster(hardware::Catalog& catalog, const ListArguments& arguments, Console& console) {
  const auto cluster = catalog.find(arguments.name);
  if (!cluster) return cluster.error();
  if (arguments.common.format == "json") {
    Json partitions = Json::array();
    for (const auto& partition : (*cluster)->partitions) {
      partitions.push_back(partition_json(partition));
      partitions.back()["fitted"] = fitted_json(partition);
    }
    console.print(tables::dump(Json{{"version", 1},
                                    {"name", (*cluster)->name},
                                    {"like", (*cluster)->like},
                                    {"file", (*cluster)->file},
                                    {"partitions", partitions}}));
    return Exit::ok;
  }
  console.print(fmt::format("{}: {}\n", (*cluster)->name, (*cluster)->doc) +
                origin_text(catalog, **cluster));
  for (const auto& partition : (*cluster)->partitions) {
    console.print(fmt::format("\n{}: {} nodes of {} x {}\n", partition.name, partition.nodes,
                              partition.gpus_per_node, partition.gpu.name) +
                  show::grid(constant_rows(partition), arguments.common.screen));
    if (partition.calibration)
      console.print(fmt::format("\n{}, fitted\n", partition.name) +
                    show::grid(fitted_rows(*partition.calibration), arguments.common.screen));
  }
  return Exit::ok;
}

}  // namespace

Ending backends_command(App& app, const ListArguments& arguments, Console& console) {
  const auto& backends = app.backends();
  app.look_in(".");
  if (arguments.common.format == "json") {
    auto stacks = stacks_json(app);
    if (!stacks) return stacks.error();
    auto json = arguments.name == "stacks" ? Json{{"version", 1}} : backends_json(backends);
    json["stacks"] = std::move(*stacks);
    console.print(tables::dump(json));
    return Exit::ok;
  }
  std::string out;
  std::vector<std::string> names;
  for (const auto& backend : backends.all())
    for (const auto& strategy : backend.strategies()) {
      names.push_back(strategy->name);
      if (!arguments.name.empty() && arguments.name != strategy->name &&
          arguments.name != backend.name())
        continue;
      out += fmt::format("{}{}{{}}: {} (backend {} {})\n", out.empty() ? "" : "\n", strategy->name,
                         strategy->doc, backend.name(), backend.version());
      out += show::grid(param_rows(strategy->params), arguments.common.screen);
    }
  names.emplace_back("training");
  if (arguments.name.empty() || arguments.name == "training")
    out += (out.empty() ? "" : "\n") + training_text(arguments.common);
  names.emplace_back("frameworks");
  if (arguments.name.empty() || arguments.name == "frameworks")
    out += (out.empty() ? "" : "\n") + frameworks_text(app, arguments.common);
  names.emplace_back("stacks");
  if (arguments.name.empty() || arguments.name == "stacks") {
    const auto stacks = stacks_text(app, arguments.common);
    if (!stacks) return stacks.error();
    out += (out.empty() ? "" : "\n") + *stacks;
  }
  if (out.empty())
    return Error{printable(arguments.name), "no such strategy or backend",
                 suggestion(arguments.name, names)};
  console.print(out);
  return Exit::ok;
}

Ending clusters_command(const ListArguments& arguments, Console& console) {
  auto places = find_places();
  if (!places) return places.error();
  places->beside = ".";
  hardware::Catalog catalog(places->cluster_folders(), places->gpus(), places->stacks());
  if (!arguments.name.empty()) return show_cluster(catalog, arguments, console);
  Rows rows{
      {"cluster", "partition", "gpu", "per node", "nodes", "bf16 TFLOPs", "GiB", "from", "what"}};
  Json list = Json::array();
  Errors errors;
  for (const auto& name : catalog.names()) {
    const auto cluster = catalog.find(name);
    if (!errors.add(cluster)) continue;
    Json partitions = Json::array();
    for (const auto& p : (*cluster)->partitions) {
      const bool has_bf16 = p.gpu.peak("bf16").value > 0;
      rows.push_back(
          {name, p.name, p.gpu.name, std::to_string(p.gpus_per_node), std::to_string(p.nodes),
           fmt::format("{:.4g}{}", p.gpu.peak(has_bf16 ? "bf16" : "fp16").value / 1e12,
                       has_bf16 ? "" : " (fp16)"),
           format_gib(p.gpu.memory.value), places->source((*cluster)->file), described(**cluster)});
      partitions.push_back(partition_json(p));
    }
    list.push_back({{"name", name},
                    {"doc", (*cluster)->doc},
                    {"like", (*cluster)->like},
                    {"file", (*cluster)->file},
                    {"partitions", partitions}});
  }
  if (arguments.common.format == "json")
    console.print(tables::dump(Json{{"version", 1}, {"clusters", list}}));
  else
    console.print(show::grid(show::without_plain(std::move(rows), "from", "shipped"),
                             arguments.common.screen));
  return errors.empty() ? Ending(Exit::ok) : errors;
}

}  // namespace orch::app

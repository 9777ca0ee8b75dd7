#include "core/plan/run_fields.h"

#include <algorithm>
#include <type_traits>

#include "core/plan/family.h"
#include "core/plan/setting.h"

namespace orch::plan {
namespace {

// keeps tensor x pipeline x data parallel below 2^63
constexpr double kMostRanks = 100'000;
constexpr double kMostSamples = 1e12;
constexpr double kMostSeconds = 1e9;

// The field's parameter with a minimum of 0, which means "not given"; given values are at least 1.
Param or_none(Field field) {
  auto param = param_of(field);
  param.min = 0;
  return param;
}

// Accesses a value of a run through a chain of members.
template <auto... members>
constexpr auto at = +[](Run& run) -> auto& {
  return (run.*....*members);
};

// The same for the ramp-up.
template <auto member>
constexpr auto in_rampup = +[](Run& run) -> auto& {
  return *run.batch.rampup.*member;
};

template <std::string SlurmSettings::*member>
RunField job_word(const char* name) {
  return {"job", TextSetting{name, ""}, at<&Run::job, member>};
}

template <std::string Container::*member>
RunField container_word(const char* name) {
  return {"container", TextSetting{name, ""}, at<&Run::job, &SlurmSettings::container, member>,
          true};
}

std::vector<RunField> make_run_fields() {
  const auto word = [](const char* name, std::string& (*held)(Run&)) {
    return RunField{"", TextSetting{name, ""}, held};
  };
  std::vector<RunField> fields{
      word("experiment", at<&Run::experiment>),
      word("trainer", at<&Run::trainer>),
      word("stack", at<&Run::stack>),
      {"", TextSetting{"framework", "that trains in our trainer's place"}, at<&Run::framework>,
       true},
      {"", ChoiceSetting{"launch", "", {"", "gpu", "node"}}, at<&Run::launch>, true},
      {"model", TextSetting{"name", ""}, at<&Run::model, &Model::name>},
      {"", param_of(Field::gpus), at<&Run::gpus>},
      {"", param_of(Field::nodes), at<&Run::nodes>},
      {"", Integer{"tensor_parallel", "ranks that share a layer", {}, {1, kMostRanks}},
       at<&Run::layout, &Layout::tensor_parallel>},
      {"", Integer{"pipeline_parallel", "stages", {}, {1, kMostRanks}},
       at<&Run::layout, &Layout::pipeline_parallel>},
      {"", Integer{"context_parallel", "ranks that share each sample", {}, {1, kMostRanks}},
       at<&Run::layout, &Layout::context_parallel>, true},
      {"", param_of(Field::data_parallel), at<&Run::layout, &Layout::data_parallel>},
      {"", param_of(Field::micro_batch), at<&Run::batch, &Batch::micro_batch>},
      {"", param_of(Field::accumulate), at<&Run::batch, &Batch::accumulate>},
      {"", param_of(Field::global_batch), at<&Run::batch, &Batch::global_batch>},
      {"", or_none(Field::tokens), at<&Run::tokens>},
      {"", or_none(Field::steps), at<&Run::steps>},
      word("paths_from", at<&Run::paths_from>),
      {"", TextSetting{"swept", "fields of training that differ between runs"}, at<&Run::swept>,
       true},
      {"", Integer{"repeat", "which of a run's repeats", {}, {1, 1e6}}, at<&Run::repeat>, true},
      {"rampup", Integer{"start", "the first global batch", {}, {1, kMostSamples}},
       in_rampup<&RampUp::start>},
      {"rampup", Integer{"step", "by which it grows", {}, {1, kMostSamples}},
       in_rampup<&RampUp::step>},
      {"rampup", Integer{"samples", "until it is full", {}, {1, kMostSamples}},
       in_rampup<&RampUp::samples>},
      {"rampup", Flag{"fewer_nodes", ""}, in_rampup<&RampUp::fewer_nodes>},
      {"rampup", Integer{"phases", "jobs at most", {}, {1, 100}}, in_rampup<&RampUp::phases>},
      job_word<&SlurmSettings::partition>("partition"),
      job_word<&SlurmSettings::account>("account"),
      job_word<&SlurmSettings::qos>("qos"),
      job_word<&SlurmSettings::constraint>("constraint"),
      job_word<&SlurmSettings::reservation>("reservation"),
      job_word<&SlurmSettings::hint>("hint"),
      job_word<&SlurmSettings::gres>("gres"),
      job_word<&SlurmSettings::time>("time"),
      {"job", Integer{"cpus_per_gpu", "", {}, {0, 1e6}},
       at<&Run::job, &SlurmSettings::cpus_per_gpu>},
      {"job", Integer{"signal_seconds", "", {}, {0, kMostSeconds}},
       at<&Run::job, &SlurmSettings::signal_seconds>},
      job_word<&SlurmSettings::setup>("setup"),
      container_word<&Container::image>("image"),
      container_word<&Container::runtime>("runtime"),
      container_word<&Container::workdir>("workdir"),
      {"container", Flag{"gpu", "", true},
       at<&Run::job, &SlurmSettings::container, &Container::gpu>, true},
  };
  const auto after_name =
      std::find_if(fields.begin(), fields.end(),
                   [](const RunField& field) { return field.section == "model"; }) +
      1;
  std::vector<RunField> sizes;
  for (auto i = static_cast<int>(Field::layers); is_size(static_cast<Field>(i)); ++i)
    sizes.push_back({"model", param_of(static_cast<Field>(i)), static_cast<Field>(i)});
  fields.insert(after_name, sizes.begin(), sizes.end());
  Run empty;
  empty.batch.rampup.emplace();
  for (auto& field : fields) field.param.default_value = get(empty, field);
  return fields;
}

}  // namespace

std::string RunField::path() const {
  return section.empty() ? param.name : std::string(section) + "." + param.name;
}

const std::vector<RunField>& run_fields() {
  static const auto kAll = make_run_fields();
  return kAll;
}

Value get(const Run& run, const RunField& field) {
  if (const auto* size = field.size()) return get(run.model, *size);
  return std::visit(
      [&](auto at) -> Value {
        if constexpr (std::is_same_v<decltype(at), Field>)
          return {};
        else
          return at(const_cast<Run&>(run));
      },
      field.at);
}

void set(Run& run, const RunField& field, const Value& conformed) {
  if (const auto* size = field.size()) return set(run.model, *size, conformed);
  std::visit(
      [&](auto at) {
        if constexpr (!std::is_same_v<decltype(at), Field>) {
          auto& held = at(run);
          held = std::get<std::decay_t<decltype(held)>>(conformed);
        }
      },
      field.at);
}

}  // namespace orch::plan

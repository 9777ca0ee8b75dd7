// A plug-in whose answers are the input: calls of the sink, one after the other, each a letter and
// the bytes of its struct. The seeds are the answers of our own plug-ins. What the contract forbids
// (invalid pointers) is not done: names are from a list, and counts equal the number of elements.
#include <cstring>

#include "core/base/text.h"
#include "core/plan/calendar.h"
#include "core/plan/experiment/loader.h"
#include "core/plan/hardware/hardware.h"
#include "core/plan/run_json.h"
#include "core/price/backend/backend.h"
#include "core/price/estimate/estimate.h"
#include "core/show/tables/report.h"
#include "tests/fuzz/doors.h"

namespace orch::fuzz {
namespace {

constexpr const char* kNames[] = {"layer",     "QKV",   "\x1b[31mred", "",   "\xff\xfe",
                                  "optimizer", nullptr, "bf16",        "fp8"};

const char* name_of(std::uint64_t bits) { return kNames[bits % std::size(kNames)]; }

// The answers of a backend as bytes.
struct Answers {
  std::string bytes;
  void add(char letter, const void* data, std::size_t size) {
    bytes += letter;
    bytes.append(static_cast<const char*>(data), size);
  }
  static Answers& of(void* context) { return *static_cast<Answers*>(context); }
};

orch_sink recording(Answers& to) {
  orch_sink sink{};
  sink.struct_size = sizeof sink;
  sink.context = &to;
  sink.problem = [](void*, std::uint32_t, const char*, const char*, const char*) {};
  sink.schedule = [](void* context, const orch_schedule* it) {
    Answers::of(context).add('s', it, sizeof *it);
  };
  sink.block = [](void* context, const char*) { Answers::of(context).add('b', "\0", 1); };
  sink.op = [](void* context, const orch_op* it) { Answers::of(context).add('o', it, sizeof *it); };
  sink.stages = [](void* context, const orch_stages* it) {
    Answers::of(context).add('t', it, sizeof *it);
    Answers::of(context).bytes.append(reinterpret_cast<const char*>(it->counts),
                                      it->n_counts * sizeof(double));
  };
  sink.memory = [](void* context, const orch_memory* it) {
    Answers::of(context).add('m', it, sizeof *it);
  };
  return sink;
}

std::string_view said;  // by the plug-in of this door

// Reads the next struct of the answers; missing bytes are 0.
template <class T>
T take(std::string_view& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  bytes.remove_prefix(std::min(bytes.size(), sizeof value));
  return value;
}

template <class T>
void name(T& value) {
  value.name = name_of(reinterpret_cast<std::uintptr_t>(value.name));
  value.formula = name_of(reinterpret_cast<std::uintptr_t>(value.formula));
}

void say_stages(std::string_view& bytes, const orch_sink& sink) {
  auto stages = take<orch_stages>(bytes);
  const auto room = static_cast<std::uint32_t>(bytes.size() / sizeof(double));
  if (stages.n_counts > room) stages.n_counts = room;
  std::vector<double> counts(stages.n_counts);
  for (auto& count : counts) count = take<double>(bytes);
  stages.counts = counts.data();
  sink.stages(sink.context, &stages);
}

void say(const orch_run*, const orch_sink* sink) {
  for (auto bytes = said; !bytes.empty();) {
    const char letter = bytes.front();
    bytes.remove_prefix(1);
    if (letter == 's') {
      auto schedule = take<orch_schedule>(bytes);
      const auto dtype = reinterpret_cast<std::uintptr_t>(schedule.dtype);
      schedule.dtype = dtype % 4 == 3 ? name_of(dtype) : "bf16";
      sink->schedule(sink->context, &schedule);
    } else if (letter == 'b') {
      sink->block(sink->context, name_of(take<std::uint8_t>(bytes)));
    } else if (letter == 'o') {
      auto op = take<orch_op>(bytes);
      name(op);
      sink->op(sink->context, &op);
    } else if (letter == 't') {
      say_stages(bytes, *sink);
    } else if (letter == 'm') {
      auto memory = take<orch_memory>(bytes);
      name(memory);
      sink->memory(sink->context, &memory);
    } else if (letter == 'p') {
      const auto bits = take<std::uint32_t>(bytes);
      sink->problem(sink->context, bits & 3, name_of(bits >> 2), name_of(bits >> 8),
                    name_of(bits >> 16));
    }
  }
}

// A description in lines: the name, the doc, then one line per parameter, with fields separated by
// '|'.
class Description {
 public:
  explicit Description(const std::string& text) {
    for (auto& line : split(text, '\n')) lines_.push_back(split(line, '|'));
    for (const auto& words : lines_)
      if (words.size() >= 9) params_.push_back(param(words));
    strategy_ = {text_at(0, 0), text_at(0, 1), params_.data(),
                 static_cast<std::uint32_t>(params_.size()), sizeof(orch_param)};
    backend_ = {sizeof backend_,
                ORCH_ABI_MAJOR,
                ORCH_ABI_MINOR,
                text_at(1, 0),
                text_at(1, 1),
                text_at(1, 2),
                &strategy_,
                1,
                sizeof strategy_,
                say,
                say,
                say};
  }
  const orch_backend* backend() const { return &backend_; }

 private:
  static double number(const std::string& word) { return std::strtod(word.c_str(), nullptr); }

  orch_param param(const std::vector<std::string>& words) {
    auto& choices = choices_.emplace_back();
    for (std::size_t i = 9; i < words.size(); ++i) choices.push_back(words[i].c_str());
    choices.push_back(nullptr);
    orch_param to{};
    to.name = words[0].c_str(), to.doc = words[1].c_str();
    to.type = static_cast<std::uint32_t>(std::strtoul(words[2].c_str(), nullptr, 10));
    to.default_value = &values_.emplace_back(orch_value{
        sizeof(orch_value), to.type, words[3].empty() ? 0u : 1u,
        std::strtoll(words[4].c_str(), nullptr, 10), number(words[4]), words[4].c_str()});
    to.choices = choices.data();
    to.min = number(words[5]), to.max = number(words[6]);
    to.parent = words[7].empty() ? nullptr : words[7].c_str();
    to.choice = words[8].empty() ? nullptr : words[8].c_str();
    return to;
  }
  const char* text_at(std::size_t line, std::size_t word) const {
    return line < lines_.size() && word < lines_[line].size() ? lines_[line][word].c_str()
                                                              : nullptr;
  }

  std::deque<std::vector<std::string>> lines_;
  std::deque<std::vector<const char*>> choices_;
  std::deque<orch_value> values_;
  std::vector<orch_param> params_;
  orch_strategy strategy_{};
  orch_backend backend_{};
};

std::string value_text(const plan::Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "1" : "0";
  return text ? *text : plan::show(value);
}

std::string described(const plan::Strategy& strategy) {
  std::string text = strategy.name + "|" + strategy.doc + "\nborder|1|a plug-in\n";
  for (const auto& param : strategy.params) {
    const auto given = plan::is_given(param.default_value);
    text += param.name + "|" + param.doc + "|" + std::to_string(static_cast<int>(param.type)) +
            "|" + (given ? "1" : "") + "|" + value_text(param.default_value) + "|" +
            std::to_string(param.min) + "|" + std::to_string(param.max) + "|" + param.parent + "|" +
            param.choice;
    for (const auto& choice : param.choices) text += "|" + choice;
    text += "\n";
  }
  return text;
}

struct FuzzWorld {
  backend::Backends backends;
  plan::Run run;
};

// A planned run on a real partition, as argument for the plug-in.
const FuzzWorld& world() {
  static hardware::Catalog clusters({kSource / "experiments/clusters"},
                                    {kSource / "experiments/gpus.yaml"});
  static const FuzzWorld made = [] {
    auto backends = backend::Backends::load({fs::path(ORCH_BINARY_DIR) / "plugins"});
    if (!backends) throw std::runtime_error(text(backends.error()));
    auto run = plan::read_run(kSource / "tests/golden/rampup/run.json");
    if (!run) throw std::runtime_error(text(run.error()));
    const auto bound = plan::bind(*run, "run.json", backends->strategies(),
                                  [&](std::string_view name) { return clusters.find(name); });
    if (!bound) throw std::runtime_error(text(bound.error()));
    return FuzzWorld{std::move(*backends), std::move(*run)};
  }();
  return made;
}

}  // namespace

std::vector<Input> border_seeds() {
  std::vector<Input> seeds;
  for (const auto& strategy : world().backends.strategies()) {
    Answers answers;
    auto run = world().run;
    backend::Work work;
    run.strategy = strategy;
    run.settings = {};
    for (const auto& param : strategy->params) run.settings.push_back(param.default_value);
    (void)world().backends.of(*strategy).work(run, backend::WorkTexts::none, work);
    const auto sink = recording(answers);
    const orch_schedule schedule{sizeof schedule, work.recompute, work.stages, work.micro_batches,
                                 work.chunks,     nullptr,        work.filled};
    sink.schedule(sink.context, &schedule);
    for (const auto& block : work.blocks) {
      sink.block(sink.context, nullptr);
      for (std::size_t i = block.first_op; i < block.first_op + block.n_ops; ++i)
        sink.op(sink.context, &work.ops[i].data);
    }
    for (const auto& range : work.stage_list) {
      const orch_stages stages{sizeof stages, static_cast<std::uint32_t>(work.blocks.size()),
                               range.first, range.last, work.counts.data() + range.first_count};
      sink.stages(sink.context, &stages);
    }
    for (const auto& item : work.memory) {
      const orch_memory memory{sizeof memory, item.place, nullptr,   nullptr,
                               item.first,    item.last,  item.bytes};
      sink.memory(sink.context, &memory);
    }
    seeds.push_back({{"says", answers.bytes}, {"describes", described(*strategy)}});
  }
  return seeds;
}

void enter_border(const Input& input) {
  std::string description, answers;
  for (const auto& part : input) (part.name == "says" ? answers : description) = part.bytes;
  said = answers;
  const Description describes(description);
  const auto backend = backend::Backend::from(describes.backend(), "orch-border.abi3.so");
  if (!backend) return;
  auto run = world().run;
  run.strategy = backend->strategies().front();
  run.settings = {};
  for (const auto& param : run.strategy->params) run.settings.push_back(param.default_value);
  std::vector<Error> reasons, warnings;
  backend->check(run, reasons, warnings);
  backend::Work work;
  const bool explain = choice(input, 2) == 0;
  const auto explained = explain ? backend::WorkTexts::formulas : backend::WorkTexts::none;
  estimate::Estimator estimator;
  backend::ProblemTally tally;
  const auto at_border = backend->abi_run(run);
  if (backend->fit(at_border, tally, work) && tally.reasons == 0) {
    plan::Estimate memory;
    estimator.memory(run, work, memory);
    if (backend->add_time(at_border, work)) (void)estimator.estimate(run, work);
  }
  if (!backend->work(run, explained, work)) return;
  auto estimate = explain ? estimator.explain(run, work) : estimator.estimate(run, work);
  const auto again = [&](const plan::Run& of, backend::Work& to) {
    return backend->work(of, explained, to);
  };
  (void)estimator.schedule(run, again, estimate);
  if (explain) (void)tables::explain({run, estimate}, {}, {});
  experiment::Loader loader(backend->strategies(), {kSource / "experiments/models.lua"});
  (void)loader.parse(
      "return experiment { name = 'x', model = 'gpt-1.3b', hardware = { cluster = 'local', gpus = "
      "1 },"
      " batch = { global_batch = 1 }, strategies = { " +
          run.strategy->name + " {} } }",
      "x.lua");
}

}  // namespace orch::fuzz

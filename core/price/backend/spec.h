#pragma once

// The C++ side of a backend, header-only: derive from BackendSpec, name the class in ORCH_BACKEND,
// build a shared library orch-<name>.abi3.so. Only the standard library is needed: the headers
// included here include nothing else, and are installed as one header, orch/spec.h. All symbols are
// hidden: otherwise two plug-ins that each have a class Spec would share its statics, even with
// RTLD_LOCAL.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/plan/model.h"
#include "core/plan/setting.h"
#include "core/price/backend/abi_value.h"
#include "core/price/backend/words.h"

#pragma GCC visibility push(hidden)

namespace orch::backend {

struct StrategySpec {
  std::string name;
  std::string doc;
  std::vector<plan::Param> params;
};

// What the calls of one thread have read of runs, for a search, which asks for millions of runs
// that differ little: mostly they have one model, and always the same names of settings.
class KnownReads {
 public:
  static KnownReads& of_this_thread() {
    static thread_local KnownReads reads;
    return reads;
  }

  const plan::Model& model(const orch_run& run) {
    const bool same = run.n_sizes > 0 && run.size_size == sizeof(orch_size) &&
                      sizes_.size() == run.n_sizes &&
                      std::memcmp(sizes_.data(), run.sizes, run.n_sizes * sizeof(orch_size)) == 0 &&
                      model_.family == run.family;
    if (same) return model_;
    sizes_.clear();
    for (std::uint32_t i = 0; i < run.n_sizes; ++i) sizes_.push_back(*orch_size_at(&run, i));
    model_ = read(run);
    return model_;
  }

  // The place of a name among others, both known by their addresses.
  std::uint32_t place(std::string_view name, std::span<const std::string_view> among) {
    auto slot = reinterpret_cast<std::uintptr_t>(name.data()) / 4 % places_.size();
    for (; places_[slot].name; slot = (slot + 1) % places_.size())
      if (places_[slot].name == name.data() && places_[slot].among == among.data())
        return places_[slot].place;
    return add_place(name, among, slot);
  }

  static std::uint32_t search(std::string_view name, std::span<const std::string_view> among) {
    return static_cast<std::uint32_t>(std::find(among.begin(), among.end(), name) - among.begin());
  }

 private:
  // Both lists have the same order, so that every name is found at once; an unknown name is from a
  // newer orch.
  static plan::Model read(const orch_run& run) {
    plan::Model model;
    model.family = run.family;
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < run.n_sizes; ++i) {
      const auto& given = *orch_size_at(&run, i);
      for (std::size_t tried = 0; tried < plan::kSizes.size(); ++tried, ++next) {
        if (next == plan::kSizes.size()) next = 0;
        if (std::strcmp(given.name, plan::kSizes[next].name) != 0) continue;
        set_size(model, plan::kSizes[next++], given.value);
        break;
      }
    }
    return model;
  }

  // Not inline: place() is short without it.
  [[gnu::noinline]] std::uint32_t add_place(std::string_view name,
                                            std::span<const std::string_view> among,
                                            std::size_t slot) {
    if (++n_places_ > places_.size() / 2) places_ = {}, n_places_ = 1;
    places_[slot] = {name.data(), among.data(), search(name, among)};
    return places_[slot].place;
  }

  struct KnownPlace {
    const char* name = nullptr;
    const std::string_view* among = nullptr;
    std::uint32_t place = 0;
  };
  std::array<KnownPlace, 1024> places_ = {};  // a hash table
  std::size_t n_places_ = 0;
  std::vector<orch_size> sizes_;
  plan::Model model_;
};

// A run with its settings by name.
class BackendRun {
 public:
  // The settings' names are those of the strategy's params.
  BackendRun(const orch_run& run, const orch_strategy& strategy,
             std::span<const std::string_view> names)
      : run_(run), strategy_(strategy), names_(names), model_(known_.model(run)) {}

  const orch_run* operator->() const { return &run_; }
  const orch_run& operator*() const { return run_; }
  std::string_view strategy() const { return strategy_.name; }
  const plan::Model& model() const { return model_; }
  // The number of GPUs that the fast links join: those of a node, or of several.
  std::int64_t domain() const {
    return run_.gpus_per_domain > 0 ? run_.gpus_per_domain : run_.gpus_per_node;
  }
  // Bytes of GPU memory that a process can allocate; 0: unknown.
  double usable_memory() const { return run_.usable_memory; }

  // A name that is not in the description has the value "not given".
  const orch_value& value(std::string_view name) const {
    return value_at(KnownReads::search(name, names_));
  }
  // The same for a name that never changes: it is searched once.
  const orch_value& value_of_constant(std::string_view name) const {
    return value_at(known_.place(name, names_));
  }

 private:
  const orch_value& value_at(std::uint32_t place) const {
    static constexpr orch_value kNone{};
    return place < run_.n_values ? *orch_value_at(&run_, place) : kNone;
  }

  KnownReads& known_ = KnownReads::of_this_thread();
  const orch_run& run_;
  const orch_strategy& strategy_;
  std::span<const std::string_view> names_;
  const plan::Model& model_;
};

template <class T>
T value_of(const BackendRun& run, const plan::DeclaredSetting<T>& setting) {
  const auto& value = run.value_of_constant(setting.name);
  if constexpr (std::is_same_v<T, std::string_view>)
    return value.text ? value.text : "";
  else if constexpr (std::is_same_v<T, double>)
    return value.real;
  else
    return static_cast<T>(value.integer);
}

// Collects the problems that check finds.
class ProblemSink {
 public:
  // A literal or a result of say(), held without a copy.
  struct Text {
    Text(const char* literal) : text(literal) {}
    Text(const std::string& said) : text(said.c_str()) {}
    const char* text;
  };

  explicit ProblemSink(const orch_sink& sink) : sink_(sink) {}
  void reject(const char* field, Text fact, Text fix) {
    rejected_ = true;
    sink_.problem(sink_.context, ORCH_REJECT, field, fact.text, fix.text);
  }
  void warn(const char* field, Text fact, Text fix) {
    sink_.problem(sink_.context, ORCH_WARN, field, fact.text, fix.text);
  }
  bool rejected() const { return rejected_; }
  // True if nothing more is asked for: in a search the first reason counts.
  bool enough() const { return rejected_ && sink_.explain == ORCH_QUIET; }

 private:
  const orch_sink& sink_;
  bool rejected_ = false;
};

// Collects the work of a step. Formulas are passed as functions, called only when wanted.
class WorkSink {
 public:
  explicit WorkSink(const orch_sink& sink) : sink_(sink) {}

  bool explain() const { return sink_.explain == ORCH_EXPLAIN; }
  bool knows_memory() const { return sink_.explain == ORCH_TIME; }

  void schedule(orch_schedule schedule) {
    schedule.struct_size = sizeof schedule;
    sink_.schedule(sink_.context, &schedule);
  }
  void block(const char* name) { sink_.block(sink_.context, name); }

  // For operations made by ops.h, which sets their size.
  template <class Formula>
  void op(const orch_op& op, Formula&& formula) {
    if (!explain()) return sink_.op(sink_.context, &op);
    const std::string text = formula();
    auto told = op;
    told.formula = text.c_str();
    sink_.op(sink_.context, &told);
  }
  void stages(std::int64_t first, std::int64_t last, std::span<const double> counts) {
    const orch_stages stages{sizeof stages, static_cast<std::uint32_t>(counts.size()), first, last,
                             counts.data()};
    sink_.stages(sink_.context, &stages);
  }
  template <class Formula>
  void memory(const char* name, std::int64_t first, std::int64_t last, double bytes,
              Formula&& formula, std::uint32_t place = ORCH_DEVICE) {
    if (bytes <= 0) return;
    std::string text;
    orch_memory item{sizeof item, place, name, nullptr, first, last, bytes};
    if (explain()) {
      text = formula();
      item.formula = text.c_str();
    }
    sink_.memory(sink_.context, &item);
  }

 private:
  const orch_sink& sink_;
};

// The torch-free half of a backend.
class BackendSpec {
 public:
  virtual ~BackendSpec() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  virtual std::string doc() const = 0;
  virtual std::vector<StrategySpec> strategies() const = 0;
  virtual void check(const BackendRun& run, ProblemSink& problems) const = 0;  // all, not the first
  virtual void work(const BackendRun& run, WorkSink& sink) const = 0;          // what, not how long
  // Check, and for a run that passes its memory; the rest of its work does no harm.
  virtual void fit(const BackendRun& run, ProblemSink& problems, WorkSink& sink) const {
    check(run, problems);
    if (!problems.rejected()) work(run, sink);
  }
};

// A backend whose answers follow from a Setup, which is made from the run; it needs the functions
// check_setup(run, setup, problems), emit_schedule(setup, sink), emit_work(setup, sink) and
// emit_memory(setup, sink).
template <class Setup>
class SetupSpec : public BackendSpec {
 public:
  SetupSpec(std::string name, std::string version, std::string doc,
            std::vector<StrategySpec> strategies)
      : name_(std::move(name)),
        version_(std::move(version)),
        doc_(std::move(doc)),
        strategies_(std::move(strategies)) {}

  std::string name() const final { return name_; }
  std::string version() const final { return version_; }
  std::string doc() const final { return doc_; }
  std::vector<StrategySpec> strategies() const final { return strategies_; }
  void check(const BackendRun& run, ProblemSink& problems) const final {
    check_setup(run, Setup(run), problems);
  }
  void work(const BackendRun& run, WorkSink& sink) const final {
    const Setup setup(run);
    emit_schedule(setup, sink);
    emit_work(setup, sink);
    if (!sink.knows_memory()) emit_memory(setup, sink);
  }
  void fit(const BackendRun& run, ProblemSink& problems, WorkSink& sink) const final {
    const Setup setup(run);
    check_setup(run, setup, problems);
    if (problems.rejected()) return;
    emit_schedule(setup, sink);
    emit_memory(setup, sink);
  }

 private:
  const std::string name_, version_, doc_;
  const std::vector<StrategySpec> strategies_;
};

// Converts a BackendSpec to the C description and owns the memory that it points to.
class Shim {
 public:
  explicit Shim(const BackendSpec& spec, decltype(orch_backend::check) check,
                decltype(orch_backend::work) work, decltype(orch_backend::fit) fit)
      : name_(spec.name()), version_(spec.version()), doc_(spec.doc()), specs_(spec.strategies()) {
    for (const auto& strategy : specs_) strategies_.push_back(convert(strategy));
    backend_ = {sizeof(orch_backend),
                ORCH_ABI_MAJOR,
                ORCH_ABI_MINOR,
                name_.c_str(),
                version_.c_str(),
                doc_.c_str(),
                strategies_.data(),
                static_cast<std::uint32_t>(strategies_.size()),
                sizeof(orch_strategy),
                check,
                work,
                fit};
  }
  const orch_backend* backend() const { return &backend_; }
  BackendRun view(const orch_run& run) const {
    return {run, strategies_[run.strategy], names_[run.strategy]};
  }

 private:
  orch_strategy convert(const StrategySpec& strategy) {
    auto& params = params_.emplace_back();
    auto& names = names_.emplace_back();
    for (const auto& spec : strategy.params) {
      params.push_back(convert(spec));
      names.push_back(spec.name);
    }
    return {strategy.name.c_str(), strategy.doc.c_str(), params.data(),
            static_cast<std::uint32_t>(params.size()), sizeof(orch_param)};
  }
  orch_param convert(const plan::Param& spec) {
    auto& choices = choices_.emplace_back();
    for (const auto& choice : spec.choices) choices.push_back(choice.c_str());
    choices.push_back(nullptr);
    const auto or_null = [](const std::string& text) {
      return text.empty() ? nullptr : text.c_str();
    };
    return {spec.name.c_str(),
            spec.doc.c_str(),
            static_cast<std::uint32_t>(spec.type),
            &values_.emplace_back(to_abi(spec.default_value, spec.type)),
            choices.data(),
            spec.min,
            spec.max,
            or_null(spec.parent),
            or_null(spec.choice)};
  }

  std::string name_, version_, doc_;
  std::vector<StrategySpec> specs_;
  std::deque<std::vector<orch_param>> params_;
  std::deque<std::vector<std::string_view>> names_;
  std::deque<std::vector<const char*>> choices_;
  std::deque<orch_value> values_;
  std::vector<orch_strategy> strategies_;
  orch_backend backend_{};
};

// No exception may cross the border: a stray one becomes a problem of the run.
template <class F>
void guarded(const orch_sink* sink, F&& call) noexcept {
  try {
    call();
  } catch (const std::exception& error) {
    sink->problem(sink->context, ORCH_REJECT, "backend", error.what(),
                  "report this to its authors");
  } catch (...) {
    sink->problem(sink->context, ORCH_REJECT, "backend", "unknown failure",
                  "report this to its authors");
  }
}

// NULL if the description itself fails: the host reports that.
template <class Spec>
const orch_backend* entry() noexcept try {
  static_assert(std::is_base_of_v<BackendSpec, Spec>);
  static const Spec spec;
  static const Shim shim(
      spec,
      [](const orch_run* run, const orch_sink* sink) {
        guarded(sink, [&] {
          const words::UnreadTexts unread(sink->explain == ORCH_QUIET);
          ProblemSink problems(*sink);
          spec.check(shim.view(*run), problems);
        });
      },
      [](const orch_run* run, const orch_sink* sink) {
        guarded(sink, [&] {
          WorkSink work(*sink);
          spec.work(shim.view(*run), work);
        });
      },
      [](const orch_run* run, const orch_sink* sink) {
        guarded(sink, [&] {
          const words::UnreadTexts unread(sink->explain == ORCH_QUIET);
          ProblemSink problems(*sink);
          WorkSink work(*sink);
          spec.fit(shim.view(*run), problems, work);
        });
      });
  return shim.backend();
} catch (...) {
  return nullptr;
}

}  // namespace orch::backend

#pragma GCC visibility pop

#define ORCH_BACKEND(Spec)                                                                  \
  extern "C" __attribute__((visibility("default"))) const orch_backend* orch_backend_entry( \
      std::uint32_t, std::uint32_t) {                                                       \
    return ::orch::backend::entry<Spec>();                                                  \
  }

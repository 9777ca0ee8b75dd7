// Exhaustive search with threads. A shared cursor hands out blocks (all settings of one layout) in
// an order that visits the space evenly; each worker evaluates the configurations of its block:
// checks that need no backend, the backend's checks and its description of the memory, and where
// that fits, of the work, for the estimate. Nothing is allocated per configuration. Only
// configurations that would enter a ranking are passed to the user's constraints, which are Lua
// functions and run under a lock. Each worker has its own rankings; they are merged at the end, and
// ties are ordered by place, so the result does not depend on the number of threads.
#include "core/price/search/search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <tuple>

#include "core/base/text.h"
#include "core/plan/check.h"
#include "core/plan/tie.h"
#include "core/price/estimate/estimate.h"
#include "core/price/estimate/goodput.h"
#include "core/price/search/maker.h"

namespace orch::search {
namespace {

constexpr std::size_t kRemembered = 1000;  // layouts that are stored, so that ties can be counted
constexpr std::uint64_t kBetweenLooks = 256;
constexpr double kSlow = 2;  // slower by this factor: useless, whatever its memory

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// State that the threads share.
struct SharedSearch {
  SharedSearch(const SearchSpace& all, const backend::Backends& loaded, const SearchOptions& asked)
      : space(all), backends(loaded), options(asked), cursor(all) {}

  const SearchSpace& space;
  const backend::Backends& backends;
  const SearchOptions& options;
  SpaceCursor cursor;
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> evaluated = 0;
  std::atomic<double> best_days = 0;
  std::mutex mutex;  // guards the members below
  std::condition_variable changed;
  unsigned running = 0;
  Errors errors;

  void fail(const Errors& why) {
    const std::lock_guard lock(mutex);
    if (errors.empty()) errors = why;
    stop = true;
  }
};

// A ramp-up that begins on fewer nodes has other costs there; without one, the estimate of the full
// layout is complete.
bool needs_schedule(const plan::Run& run) {
  return run.batch.rampup && run.batch.rampup->fewer_nodes;
}

// True if the number of GPUs varies: then GPU-hours rank separately from days.
bool several_gpu_counts(const SearchSpace& space) {
  for (const auto& part : space.parts())
    for (const auto* fields :
         {&part.experiment.hardware, &part.experiment.strategies.front().space})
      for (const auto& axis : fields->axes)
        for (const auto& field : axis.fields)
          if ((field == "gpus" || field == "nodes") && axis.points.size() > 1) return true;
  return false;
}

// Blocks with the same key belong to one question; different keys may, too (models of nearly one
// size).
using QuestionKey = std::tuple<std::size_t, std::int64_t, const plan::Partition*>;

struct Rankings {
  Ranking within, over;  // within the budget, and over it
};
using ByKey = std::map<QuestionKey, Rankings>;

// One thread's share of the work. It owns all buffers of an evaluation, so that none allocates.
class SearchWorker {
 public:
  SearchWorker(SharedSearch& shared, std::size_t remembered, bool gpu_hours)
      : shared_(shared),
        experiment_(shared.space.experiment()),
        makers_(makers_of(shared.space)),
        fresh_{{remembered, gpu_hours}, {remembered, gpu_hours}} {}

  void work() {
    SettingsBlock block;
    while (!shared_.stop && shared_.cursor.next(block)) evaluate(block);
    const std::lock_guard lock(shared_.mutex);
    --shared_.running;
    shared_.changed.notify_all();
  }

  void add_to(SearchResult& found, ByKey& rankings) const {
    found.evaluated += static_cast<double>(rejected_ + oom_ + fitting_);
    found.rejected += static_cast<double>(rejected_);
    found.oom += static_cast<double>(oom_);
    found.fitting += static_cast<double>(fitting_);
    found.within_budget += static_cast<double>(kept_);
    for (const auto& [field, reason] : reasons_) {
      auto& known = found.reasons[field];
      if (known.count == 0 || earlier(reason.example, known.example))
        known.example = reason.example;
      known.count += reason.count;
    }
    if (closest_ && (found.closest.empty() || roomier(*closest_, found.closest.front())))
      found.closest.assign(1, *closest_);
    for (const auto& [key, ranking] : rankings_) {
      auto& merged = rankings.try_emplace(key, fresh_).first->second;
      merged.within.merge(ranking.within);
      merged.over.merge(ranking.over);
    }
  }

 private:
  static bool earlier(const SpacePlace& a, const SpacePlace& b) {
    return std::pair(a.block.ordinal, a.inner) < std::pair(b.block.ordinal, b.inner);
  }

  void evaluate(const SettingsBlock& block) {
    auto& maker = *makers_[block.part];
    const auto size = maker.start(block);
    const auto& run = maker.run();
    check_block(maker);
    if (!maker.remakes() && !before_settings_.empty()) return reject_all(size, {block, 0});
    check_settings(run);
    backend_ = &shared_.backends.of(*run.strategy);
    auto at_border = backend_->abi_run(run);
    const QuestionKey key{shared_.space.parts()[block.part].model, run.model.seq, run.partition};
    ranking_ = &rankings_.try_emplace(key, fresh_).first->second;
    std::uint64_t seen = 0;
    for (bool more = true; more; more = next(maker, at_border)) {
      evaluate(maker, at_border, {block, maker.inner()});
      if (++seen % kBetweenLooks != 0) continue;
      shared_.evaluated.fetch_add(kBetweenLooks, std::memory_order_relaxed);
      if (shared_.stop.load(std::memory_order_relaxed)) break;
    }
    shared_.evaluated.fetch_add(seen % kBetweenLooks, std::memory_order_relaxed);
    ranking_->within.end_block();
    ranking_->over.end_block();
  }

  bool next(RunMaker& maker, backend::AbiRun& at_border) {
    if (!maker.next()) return false;
    if (maker.remakes()) {
      at_border.convert();
      check_block(maker);
    } else {
      for (const auto i : maker.changed()) at_border.convert_setting(i);
    }
    if (maker.remakes() || maker.changed_checked()) check_settings(maker.run());
    return true;
  }

  void evaluate(RunMaker& maker, const backend::AbiRun& at_border, const SpacePlace& place) {
    const auto& run = maker.run();
    if (const auto* field = problem()) return reject(*field, place);
    if (const auto status = backend_->fit(at_border, tally_, work_); !status)
      return shared_.fail(status.error());
    if (const auto* field = problem_of_backend()) return reject(*field, place);
    // The time of what does not fit counts only among those that come closest.
    estimator_.memory(run, work_, memory_);
    if (memory_.fit == plan::MemoryFit::oom && closest_ &&
        closest_->headroom > headroom_of(run, memory_)) {
      ++oom_;
      return;
    }
    if (const auto status = backend_->add_time(at_border, work_); !status)
      return shared_.fail(status.error());
    auto estimate = estimator_.estimate(run, work_);
    if (estimate.fit != plan::MemoryFit::oom && needs_schedule(run))
      if (const auto status = estimator_.schedule(run, ask_, estimate); !status)
        return shared_.fail(status.error());
    const auto score = score_of(estimate, run.partition, place);
    if (estimate.fit == plan::MemoryFit::oom) return leave(run, estimate, score);
    ++fitting_;
    if (estimate.schedule.empty() && plan::limits_expense(experiment_.budget))
      estimate::add_failures(run, estimate);
    const bool kept = plan::keeps_limits(
        experiment_, estimate.expense(),
        estimate.schedule.empty() ? std::vector<plan::Portion>{{estimate.days_to_train, run.nodes}}
                                  : estimate.portions(estimate.days_to_train));
    kept_ += kept;
    auto& ranking = kept ? ranking_->within : ranking_->over;
    if (!ranking.wants(score) || !holds(maker, estimate, place)) return;
    ranking.add(score);
    if (kept) tell(score.days);
  }

  // The smaller of the free shares of the device's and the host's memory.
  static double headroom_of(const plan::Run& run, const plan::Estimate& estimate) {
    return std::min(1 - estimate.peak_memory / estimate.usable_memory,
                    1 - estimate.host_memory / run.partition->host_memory.value);
  }

  void leave(const plan::Run& run, const plan::Estimate& estimate, RunScore score) {
    ++oom_;
    score.headroom = headroom_of(run, estimate);
    if (!closest_ || roomier(score, *closest_)) closest_ = score;
  }

  // Checks what does not depend on the settings: before and after these in the order of a plan.
  void check_block(const RunMaker& maker) {
    const auto& run = maker.run();
    before_settings_ = maker.problems();
    after_settings_.clear();
    warnings_.clear();
    if (!run.partition) return;
    plan::check_calendar(run, experiment_.calendar, before_settings_);
    plan::check_layout(run, experiment_.budget, before_settings_, warnings_);
    plan::check_length(run, after_settings_, warnings_);
  }

  void check_settings(const plan::Run& run) {
    of_settings_.clear();
    if (run.partition) plan::check_settings(run, of_settings_);
  }

  // The field of the first problem in the order of a plan: checks for every backend, then this
  // backend's; null: the run passes.
  const std::string* problem() const {
    for (const auto* reasons : {&before_settings_, &of_settings_, &after_settings_})
      if (!reasons->empty()) return &reasons->front().place;
    return nullptr;
  }

  const std::string* problem_of_backend() const {
    if (tally_.reasons > 0) return &tally_.reason;
    if (!experiment_.strict) return nullptr;
    if (!warnings_.empty()) return &warnings_.front().place;
    return tally_.warnings > 0 ? &tally_.warning : nullptr;
  }

  void reject(const std::string& field, const SpacePlace& place) {
    ++rejected_;
    note(field, place);
  }

  // What is wrong with a block whatever its settings is wrong with all of its configurations.
  void reject_all(std::uint64_t size, const SpacePlace& first) {
    rejected_ += size;
    note(before_settings_.front().place, first, size);
    shared_.evaluated.fetch_add(size, std::memory_order_relaxed);
  }

  void note(const std::string& field, const SpacePlace& place, std::uint64_t times = 1) {
    if (!last_reason_ || last_reason_->first != field)
      last_reason_ = &*reasons_.try_emplace(field).first;
    auto& reason = last_reason_->second;
    if (reason.count == 0 || earlier(place, reason.example)) reason.example = place;
    reason.count += static_cast<decltype(reason.count)>(times);
  }

  // Calls the user's functions only for the few configurations that would be kept, one thread at a
  // time.
  bool holds(RunMaker& maker, const plan::Estimate& estimate, const SpacePlace& place) {
    reasons_here_.clear();
    maker.check_constraints(reasons_here_);
    if (!reasons_here_.empty()) return note(reasons_here_.front().place, place), false;
    if (!shared_.options.accept) return true;
    const std::lock_guard lock(shared_.space.functions());
    const auto answer = shared_.options.accept(maker.run(), estimate);
    if (!answer) shared_.fail(answer.error());
    return answer && *answer;
  }

  void tell(double days) {
    auto best = shared_.best_days.load(std::memory_order_relaxed);
    while ((best == 0 || days < best) && !shared_.best_days.compare_exchange_weak(best, days)) {
    }
  }

  SharedSearch& shared_;
  const plan::Experiment& experiment_;
  std::vector<std::unique_ptr<RunMaker>> makers_;
  const backend::Backend* backend_ = nullptr;
  backend::Work work_;
  estimate::Estimator estimator_;
  const estimate::AskWork ask_ = [this](const plan::Run& run, backend::Work& work) {
    return backend_->work(run, backend::WorkTexts::none, work);
  };
  std::vector<Error> before_settings_, of_settings_, after_settings_, warnings_, reasons_here_;
  plan::Estimate memory_;
  backend::ProblemTally tally_;
  const Rankings fresh_;
  ByKey rankings_;
  Rankings* ranking_ = nullptr;  // for the current block
  std::uint64_t rejected_ = 0, oom_ = 0, fitting_ = 0, kept_ = 0;
  std::map<std::string, MissReason> reasons_;
  std::pair<const std::string, MissReason>* last_reason_ = nullptr;
  std::optional<RunScore> closest_;
};

// Waits for the threads, reports their progress, and stops them on request.
void watch(SharedSearch& shared, double total, SteadyClock::time_point start) {
  const auto& options = shared.options;
  auto next_report = options.every;
  std::unique_lock lock(shared.mutex);
  while (shared.running > 0) {
    shared.changed.wait_for(lock, std::chrono::milliseconds(20));
    if (options.interrupted && options.interrupted()) shared.stop = true;
    const double seconds = seconds_since(start);
    if (!options.progress || seconds < next_report) continue;
    next_report = seconds + options.every;
    options.progress({static_cast<double>(shared.evaluated), total, seconds, shared.best_days});
  }
}

// The fastest of each strategy: among those within the budget, or else among the others.
std::vector<RunScore> best_of_each(const SearchSpace& space, const Rankings& rankings) {
  std::map<std::string, RunScore> best;
  for (const auto* ranking : {&rankings.within, &rankings.over}) {
    std::map<std::string, RunScore> here;
    for (const auto& [index, score] : ranking->parts()) {
      const auto& name = space.parts()[index].experiment.strategies.front().strategy->name;
      const auto [place, fresh] = here.try_emplace(name, score);
      if (!fresh && faster(score, place->second)) place->second = score;
    }
    best.merge(here);  // entries that exist already are kept
  }
  std::vector<RunScore> scores;
  for (const auto& [name, score] : best) scores.push_back(score);
  std::ranges::sort(scores, faster);
  return scores;
}

ResultLists lists_of(const SearchSpace& space, const Rankings& rankings, std::size_t top) {
  ResultLists lists;
  lists.keeps_budget = !rankings.within.empty();
  const auto& ranking = lists.keeps_budget ? rankings.within : rankings.over;
  lists.fastest = ranking.fastest();
  lists.cheapest = ranking.cheapest();
  lists.front = ranking.front();
  lists.roomiest = lists.front;
  std::erase_if(lists.roomiest, [&](const RunScore& score) {
    return score.days > kSlow * lists.front.front().days;
  });
  std::ranges::sort(lists.roomiest, roomier);
  for (auto* list : {&lists.cheapest, &lists.roomiest})
    if (list->size() > top) list->resize(top);
  lists.strategies = best_of_each(space, rankings);
  return lists;
}

// Sorted by machine in the order of the experiment, not in the order in which they were found.
std::vector<ResultLists> by_question(const SearchSpace& space, const ByKey& by_key,
                                     std::size_t top) {
  std::vector<std::pair<SpacePlace, const Rankings*>> all;
  for (const auto& [key, rankings] : by_key)
    for (const auto* ranking : {&rankings.within, &rankings.over})
      if (!ranking->empty()) {
        all.emplace_back(ranking->fastest().front().place, &rankings);
        break;
      }
  std::ranges::sort(all, {}, [](const auto& each) {
    return std::pair(each.first.block.base, each.first.block.part);
  });
  std::vector<plan::Run> runs;
  for (const auto& [place, rankings] : all) {
    RunMaker maker(space, place.block.part);
    maker.start(place.block);
    runs.push_back(maker.run());
  }
  const auto numbers = plan::questions_of(mapped(runs, [](const auto& run) { return &run; }));
  std::map<std::size_t, Rankings> questions;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [at, fresh] = questions.try_emplace(numbers[i], *all[i].second);
    if (fresh) continue;
    at->second.within.merge(all[i].second->within);
    at->second.over.merge(all[i].second->over);
  }
  std::vector<ResultLists> out;
  for (const auto& [number, rankings] : questions) out.push_back(lists_of(space, rankings, top));
  return out;
}

}  // namespace

bool SearchResult::keeps_budget() const {
  return empty() || std::ranges::any_of(questions, &ResultLists::keeps_budget);
}

std::vector<RunScore> SearchResult::strategies() const {
  std::vector<RunScore> out;
  for (const auto& lists : questions)
    out.insert(out.end(), lists.strategies.begin(), lists.strategies.end());
  return out;
}

double size_of(const SearchSpace& space, const std::function<bool()>& interrupted) {
  SpaceCursor cursor(space);
  const auto makers = makers_of(space);
  double size = 0;
  for (SettingsBlock block; cursor.next(block) && !(interrupted && interrupted());)
    size += static_cast<double>(makers[block.part]->start(block));
  return size;
}

Result<SearchResult> search(const SearchSpace& space, const backend::Backends& backends,
                            const SearchOptions& options) {
  const auto start = SteadyClock::now();
  SearchResult found;
  found.space = size_of(space, options.interrupted);
  SharedSearch shared(space, backends, options);
  const auto remembered = std::max(options.top, kRemembered);
  const bool gpu_hours = several_gpu_counts(space);
  const unsigned threads =
      options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::unique_ptr<SearchWorker>> workers;
  for (unsigned i = 0; i < threads; ++i)
    workers.push_back(std::make_unique<SearchWorker>(shared, remembered, gpu_hours));
  {
    shared.running = threads;
    std::vector<std::jthread> running;
    for (auto& worker : workers) running.emplace_back([&worker] { worker->work(); });
    watch(shared, found.space, start);
  }
  if (!shared.errors.empty()) return shared.errors;
  ByKey rankings;
  found.complete = !shared.stop;
  for (const auto& worker : workers) worker->add_to(found, rankings);
  found.questions = by_question(space, rankings, options.top);
  if (!found.empty()) found.closest.clear();
  found.seconds = seconds_since(start);
  return found;
}

plan::Run run_at(const SearchSpace& space, const backend::Backends& backends,
                 const SpacePlace& place, std::vector<Error>& reasons) {
  RunMaker maker(space, place.block.part);
  maker.start(place.block);
  maker.seek(place.inner);
  auto run = maker.run();
  reasons = maker.problems();
  if (!run.partition) return run;
  plan::check_calendar(run, space.experiment().calendar, reasons);
  plan::check(run, space.experiment().budget, reasons, run.warnings);
  backends.of(*run.strategy).check(run, reasons, run.warnings);
  maker.check_constraints(reasons);
  return run;
}

std::size_t ties(const std::vector<RunScore>& fastest) {
  if (fastest.empty()) return 0;
  const auto& best = fastest.front();
  return static_cast<std::size_t>(std::count_if(
      fastest.begin() + 1, fastest.end(),
      [&](const RunScore& other) { return may_be_equal(other.timing, best.timing); }));
}

}  // namespace orch::search

#include "backends/runtime/comm/inquiry.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>

namespace orch::train {
namespace {

using SteadyClock = std::chrono::steady_clock;
using namespace std::chrono_literals;
using SortedJson = nlohmann::json;

constexpr auto kPatience = 2s;  // time limit for the other ranks' answers

constexpr char kAlarm[] = "watch/alarm";
constexpr char kVerdict[] = "watch/verdict";
constexpr char kVerdictHeard[] = "watch/heard";  // number of ranks that know the verdict
constexpr char kLeft[] = "watch/left";           // number of ranks that have left
std::string answer_key(int rank) { return fmt::format("watch/answer/{}", rank); }
std::string left_key(int rank) { return fmt::format("watch/left/{}", rank); }

std::string get(c10d::Store& store, const std::string& key) {
  const auto bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

void set(c10d::Store& store, const std::string& key, const std::string& value) {
  store.set(key, std::vector<std::uint8_t>(value.begin(), value.end()));
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EnteredCollective, kind, group, sequence, bytes, is_inside,
                                   is_waited, peer, members)

FailureInquiry::FailureInquiry(const WorldOptions& options, c10::intrusive_ptr<c10d::Store> store,
                               const RankProcessId& rank0)
    : options_(options), store_(std::move(store)), rank0_(rank0) {}

std::string FailureInquiry::who_key(int rank) { return fmt::format("who/{}", rank); }

bool FailureInquiry::is_alarm() { return store_->check({kAlarm}); }

void FailureInquiry::answer(const EnteredByGroup& entered) {
  SortedJson json = {{"failed", announced_}, {"step", -1}, {"entered", SortedJson::array()}};
  const auto& folder = options_.flight_folder;
  if (!folder.empty())
    if (const auto own = flight::read(folder + "/" + flight::file_name(options_.rank)))
      json["step"] = own->step;
  for (const auto& [group, last] : entered) json["entered"].push_back(last);
  set(*store_, answer_key(options_.rank), json.dump());
}

std::string FailureInquiry::verdict(const EnteredCollective& here, const EnteredByGroup& entered) {
  if (!verdict_.empty()) return verdict_;
  answer(entered);
  if (store_->add(kAlarm, 1) == 1) {
    const auto found = blame(here, sight_others());
    set(*store_, kVerdict, found);
    keep(found);
  } else {
    keep(verdict_of_another());
  }
  return verdict_;
}

void FailureInquiry::keep(const std::string& verdict) {
  verdict_ = verdict;
  store_->add(kVerdictHeard, 1);
}

void FailureInquiry::take_verdict() {
  if (verdict_.empty() && store_->check({kVerdict})) keep(get(*store_, kVerdict));
}

void FailureInquiry::wait_until_others_heard(SteadyClock::time_point deadline) {
  take_verdict();
  while (store_->add(kVerdictHeard, 0) < options_.size && SteadyClock::now() < deadline)
    std::this_thread::sleep_for(10ms);
}

void FailureInquiry::announce(const std::string& why, const EnteredByGroup& entered) {
  announced_ = why;
  answer(entered);
  if (store_->add(kAlarm, 1) != 1) return;  // this failure is a consequence of an earlier one
  const auto verdict = fmt::format("rank {} failed: {}", options_.rank, why);
  set(*store_, kVerdict, verdict);
  keep(verdict);
}

void FailureInquiry::leave() {
  set(*store_, left_key(options_.rank), "1");
  store_->add(kLeft, 1);
}

void FailureInquiry::wait_until_others_left(SteadyClock::time_point deadline) {
  while (store_->add(kLeft, 0) < options_.size && SteadyClock::now() < deadline) {
    bool is_any_there = false;
    for (int rank = 0; rank < options_.size && !is_any_there; ++rank)
      is_any_there = rank != options_.rank && !store_->check({left_key(rank)}) &&
                     !is_absent(whereabouts(rank).look());
    if (!is_any_there) return;
    std::this_thread::sleep_for(10ms);
  }
}

RankProcessId FailureInquiry::whereabouts(int rank) {
  return rank == 0 ? rank0_ : RankProcessId::unpack(get(*store_, who_key(rank)));
}

// Adds what has become known; true if nothing more can be expected.
bool FailureInquiry::sight(RankStatus& other, bool is_last_time) {
  other.left = store_->check({left_key(other.rank)});
  if (!other.left && store_->check({answer_key(other.rank)})) {
    const auto json = SortedJson::parse(get(*store_, answer_key(other.rank)));
    other.answered = true;
    other.failed = json.at("failed");
    other.step = json.at("step");
    for (const auto& item : json.at("entered")) {
      auto entered = item.get<EnteredCollective>();
      other.entered[entered.group] = std::move(entered);
    }
    return true;
  }
  other.where = whereabouts(other.rank);
  other.process = other.where.look();
  const bool is_final = other.left || other.process == ProcessState::gone;
  if (is_final || is_last_time) other.last_seen = last_seen(options_.flight_folder, other.rank);
  return is_final;
}

std::vector<RankStatus> FailureInquiry::sight_others() {
  std::vector<RankStatus> others;
  for (int rank = 0; rank < options_.size; ++rank)
    if (rank != options_.rank) others.emplace_back().rank = rank;
  std::vector<bool> known(others.size());
  const auto deadline = SteadyClock::now() + kPatience;
  while (true) {
    const bool is_last_time = SteadyClock::now() >= deadline;
    std::size_t count = 0;
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (!known[i]) known[i] = sight(others[i], is_last_time);
      if (known[i]) ++count;
    }
    if (count == others.size() || is_last_time) return others;
    std::this_thread::sleep_for(20ms);
  }
}

std::string FailureInquiry::verdict_of_another() {
  const auto deadline = SteadyClock::now() + kPatience + 500ms;
  while (!store_->check({kVerdict})) {
    if (SteadyClock::now() >= deadline) return "another rank detected it first, without details";
    std::this_thread::sleep_for(10ms);
  }
  return get(*store_, kVerdict);
}

}  // namespace orch::train

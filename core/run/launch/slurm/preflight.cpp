#include "core/run/launch/slurm/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/plan/slurm.h"

namespace orch::launch {
namespace {

struct Gres {
  std::string name, type;
  std::int64_t count = 1;
};

// "gpu", "gpu:8", "gpu:a100", "gpu:a100:8(S:0-1)".
Gres parse_gres(std::string_view text) {
  // Only up to "(S:0-1)", which contains another colon.
  const auto parts = split(text.substr(0, text.find('(')), ':');
  Gres gres{parts[0], "", 1};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (const auto count = number_from<std::int64_t>(parts[i]))
      gres.count = *count;
    else
      gres.type = parts[i];
  }
  return gres;
}

// Commas in parentheses, as in "gpu:a100:8(S:0,1)", do not separate.
std::vector<Gres> gres_list(std::string_view text) {
  std::vector<Gres> list;
  std::string item;
  int depth = 0;
  for (const char c : std::string(text) + ",") {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || depth > 0) {
      item += c;
      continue;
    }
    if (!item.empty() && item != "(null)") list.push_back(parse_gres(item));
    item.clear();
  }
  return list;
}

std::int64_t count_on(const NodeGroup& group, const Gres& asked) {
  std::int64_t count = 0;
  for (const auto& gres : gres_list(group.gres))
    if (gres.name == asked.name && (asked.type.empty() || gres.type == asked.type))
      count += gres.count;
  return count;
}

// The feature names in "a100&[rack1|rack2]*2".
std::vector<std::string> features_of(std::string_view constraint) {
  std::vector<std::string> words(1);
  bool is_count = false;
  for (const char c : constraint) {
    if (std::string_view("&|,[]()*").find(c) == std::string_view::npos) {
      if (!is_count) words.back() += c;
    } else {
      is_count = c == '*';
      if (!words.back().empty()) words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool has_feature(const NodeGroup& group, const std::string& feature) {
  return std::ranges::find(group.features, feature) != group.features.end();
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// Checks one request against the partition that it names.
class PreflightChecker {
 public:
  PreflightChecker(const JobRequest& ask, const ClusterFacts& facts, Errors& errors)
      : ask_(ask), facts_(facts), errors_(errors) {}

  void check() {
    if (!find_partition()) return;
    for (const auto& group : facts_.nodes)
      if (group.partition == partition_->name) groups_.push_back(&group);
    check_state();
    check_time();
    check_size();
    check_permission("account", ask_.account, partition_->accounts);
    check_permission("qos", ask_.qos, partition_->qos);
    // A name that no node has explains why none is left: one error is enough.
    const auto before = errors_.size();
    check_features();
    for (const auto& gres : gres_list(ask_.gres)) check_gres(gres);
    if (errors_.size() == before) check_together();
  }

 private:
  void add(std::string fact, std::string fix) {
    errors_.push_back({ask_.place, std::move(fact), std::move(fix)});
  }

  bool find_partition() {
    std::vector<std::string> names;
    for (const auto& partition : facts_.partitions) {
      names.push_back(partition.name);
      const bool fits =
          ask_.partition.empty() ? partition.is_default : partition.name == ask_.partition;
      if (fits) partition_ = &partition;
    }
    if (partition_ != nullptr) return true;
    if (ask_.partition.empty())
      add(fmt::format("names no partition, and cluster {} has no default one", facts_.name),
          suggestion("", names));
    else if (ask_.partition.find(',') == std::string::npos)  // with a list, SLURM picks one
      add(fmt::format("no partition '{}' on cluster {}", printable(ask_.partition), facts_.name),
          suggestion(ask_.partition, names));
    return false;
  }

  void check_state() {
    if (partition_->state == "UP" || partition_->state.empty()) return;
    add(fmt::format("partition {} is {}", partition_->name, partition_->state),
        "name another partition, or ask the site when it will be back");
  }

  void check_time() {
    if (ask_.time.empty()) return;
    const auto seconds = plan::parse_slurm_time(ask_.time);
    if (!seconds)
      add(fmt::format("no time limit: '{}'", printable(ask_.time)), "write it as hours:00:00");
    else if (*seconds > partition_->max_seconds)
      add(fmt::format("time {} is over the limit of partition {}", ask_.time, partition_->name),
          fmt::format("ask for {} or less", duration(partition_->max_seconds)));
  }

  void check_size() {
    const bool has_them = ask_.nodes <= partition_->nodes;
    if (has_them && ask_.nodes <= partition_->max_nodes) return;
    add(fmt::format("{} nodes, but partition {} {} {}", ask_.nodes, partition_->name,
                    has_them ? "allows a job only" : "has",
                    has_them ? partition_->max_nodes : partition_->nodes),
        "use fewer nodes, or name a larger partition");
  }

  void check_permission(std::string_view what, const std::string& asked,
                        const std::vector<std::string>& allowed) {
    if (asked.empty() || allowed.empty()) return;
    if (std::ranges::find(allowed, asked) != allowed.end()) return;
    add(fmt::format("{} '{}' may not use partition {}", what, printable(asked), partition_->name),
        suggestion(asked, allowed));
  }

  void check_features() {
    std::set<std::string> all;
    for (const auto* group : groups_) all.insert(group->features.begin(), group->features.end());
    const std::vector<std::string> names(all.begin(), all.end());
    for (const auto& feature : features_of(ask_.constraint)) {
      if (all.contains(feature)) continue;
      add(fmt::format("constraint '{}': no node of partition {} has it", printable(feature),
                      partition_->name),
          names.empty() ? "its nodes have no features" : suggestion(feature, names));
    }
  }

  void check_gres(const Gres& asked) {
    std::int64_t most = 0;
    std::set<std::string> there;
    for (const auto* group : groups_) {
      most = std::max(most, count_on(*group, asked));
      for (const auto& gres : gres_list(group->gres))
        there.insert(gres.type.empty() ? gres.name : gres.name + ":" + gres.type);
    }
    if (asked.count <= most) return;
    const auto name = asked.type.empty() ? asked.name : asked.name + ":" + asked.type;
    const std::vector<std::string> names(there.begin(), there.end());
    if (most == 0)
      add(fmt::format("gres '{}': no node of partition {} has it", printable(name),
                      partition_->name),
          names.empty() ? "its nodes have no gres" : suggestion(name, names));
    else
      add(fmt::format("gres {}:{}, but a node of partition {} has at most {}", printable(name),
                      asked.count, partition_->name, most),
          fmt::format("use {} or fewer per node, and more nodes", most));
  }

  // Each requirement is met by some nodes: are there enough that meet all?
  void check_together() {
    if (groups_.empty() || ask_.nodes > partition_->nodes) return;
    if (ask_.constraint.find_first_of("|[(*,") != std::string::npos)
      return;  // only SLURM evaluates these
    std::int64_t fitting = 0;
    for (const auto* group : groups_) {
      const auto gres = gres_list(ask_.gres);
      const auto features = features_of(ask_.constraint);
      const bool fits =
          std::ranges::all_of(
              gres, [&](const auto& one) { return count_on(*group, one) >= one.count; }) &&
          std::ranges::all_of(features, [&](const auto& one) { return has_feature(*group, one); });
      if (fits) fitting += group->nodes;
    }
    if (ask_.nodes <= fitting) return;
    add(fmt::format("{} nodes with gres '{}' and constraint '{}', but partition {} has {}",
                    ask_.nodes, printable(ask_.gres), printable(ask_.constraint), partition_->name,
                    fitting),
        "use fewer nodes, or ask less of each");
  }

  const JobRequest& ask_;
  const ClusterFacts& facts_;
  Errors& errors_;
  const PartitionFacts* partition_ = nullptr;
  std::vector<const NodeGroup*> groups_;
};

}  // namespace

Status preflight(const ClusterFacts& facts, const std::set<JobRequest>& asks) {
  Errors errors, once;
  for (const auto& ask : asks) PreflightChecker(ask, facts, errors).check();
  for (auto& error : errors)
    if (!contains(once, error)) once.push_back(std::move(error));
  return once;
}

}  // namespace orch::launch

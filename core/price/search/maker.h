#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/plan/resolve.h"
#include "core/plan/run.h"
#include "core/price/search/space.h"

namespace orch::search {

// Makes the configurations of one part, one at a time, by changing a single run from each to the
// next. One per thread; the functions of an experiment are called under the space's lock.
class RunMaker {
 public:
  RunMaker(const SearchSpace& space, std::uint32_t part);
  RunMaker(const RunMaker&) = delete;
  RunMaker& operator=(const RunMaker&) = delete;

  // The number of combinations of values that the experiment lists; each is combined with every
  // shape.
  std::uint64_t bases() const { return bases_; }
  std::uint32_t shapes() const;

  // The layouts of one base and shape that are arithmetically possible: the product of ranks is the
  // number of GPUs, tensor parallel divides the heads, every stage has a layer, batches divide
  // evenly.
  std::vector<SettingsBlock> blocks(std::uint64_t base, std::uint32_t shape);

  // Makes the block the current one and returns its number of configurations.
  std::uint64_t start(const SettingsBlock& block);
  // Goes to the configuration number `inner` of the block, or to the next one (false: there is
  // none).
  void seek(std::uint64_t inner);
  bool next();

  const plan::Run& run() const { return run_; }
  // What next() changed: the settings at these places, or, if it made another run, all of it.
  const std::vector<std::size_t>& changed() const { return changed_; }
  bool changed_checked() const { return changed_checked_; }  // by plan::check_settings
  bool remakes() const { return part_.functions; }
  std::uint64_t inner() const { return inner_; }
  // Errors of the experiment's functions, and errors in the values that they returned.
  const std::vector<Error>& problems() const { return problems_; }
  // Adds the user's constraints that the current configuration breaks.
  void check_constraints(std::vector<Error>& reasons);

 private:
  struct BlockCursor {  // a setting of the current block, and its current point
    const SpaceSetting* setting = nullptr;
    std::vector<std::vector<plan::Value>> points;
    std::size_t at = 0;
  };
  plan::Value& placeholder(std::string_view field);
  void place(std::string_view field, std::int64_t number);
  void set_base(std::uint64_t base, std::uint32_t shape);
  void set_layout(std::int64_t tensor, std::int64_t pipeline, std::int64_t micro_batch);
  void add_batches(SettingsBlock block, std::vector<SettingsBlock>& blocks);
  void make_settings();
  void apply(const BlockCursor& held);
  void fill_placeholders();         // from the run's settings
  void resolve();                   // makes the run from the placeholders
  bool asked_for_settings() const;  // since the resolver's start

  const SearchSpace& space_;
  const SpacePart& part_;
  std::uint32_t index_;
  plan::Experiment own_;  // a copy of the part's experiment with placeholders to write to
  plan::FieldSources frame_;
  plan::Resolver resolver_;
  std::vector<std::size_t> points_;
  std::uint64_t bases_ = 1;
  std::vector<BlockCursor> held_;
  plan::Run run_;
  std::vector<std::size_t> changed_;
  bool changed_checked_ = false;
  std::vector<Error> problems_;
  // The constraints that all configurations of the block break, if that depends on no setting.
  std::optional<std::vector<Error>> broken_;
  std::uint64_t inner_ = 0;
};

// One maker for each part. All are made at the beginning, because the experiment's functions may be
// copied only by the thread that owns the space.
std::vector<std::unique_ptr<RunMaker>> makers_of(const SearchSpace& space);

// Iterates over the blocks of a space, in leaps through all layouts of a shape, so that an
// interrupted search has seen some of each kind. Shared by threads: a free thread takes the next
// block.
class SpaceCursor {
 public:
  explicit SpaceCursor(const SearchSpace& space) : makers_(makers_of(space)) {}

  bool next(SettingsBlock& block);  // false: no more blocks

 private:
  bool next_row();

  std::mutex mutex_;
  std::vector<std::unique_ptr<RunMaker>> makers_;
  std::uint32_t part_ = 0;
  std::uint64_t base_ = 0;
  std::uint32_t shape_ = 0;
  std::vector<SettingsBlock> row_;
  std::size_t at_ = 0;
  std::size_t leap_ = 1;
  std::uint64_t ordinal_ = 0;  // of the row's first block
};

}  // namespace orch::search

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/plan/resolve.h"
#include "core/plan/run.h"
#include "core/price/search/space.h"

namespace orch::search {

// Makes the configurations of one part, one at a time, in one run that changes from each to the
// next. One per thread; the functions of an experiment are called under the space's lock.
class Maker {
 public:
  Maker(const Space& space, std::uint32_t part);
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  // Combinations of the values that the experiment lists, and shapes for each.
  std::uint64_t bases() const { return bases_; }
  std::uint32_t shapes() const;

  // The layouts of one base and shape that arithmetic allows: ranks that multiply to the GPUs,
  // tensor parallel that divides the heads, stages for every layer, batches without a rest.
  std::vector<Block> blocks(std::uint64_t base, std::uint32_t shape);

  // How many configurations a block has; the block becomes the current one.
  std::uint64_t start(const Block& block);
  // Goes to the inner-th configuration of the block, or to the next one (false: there is none).
  void seek(std::uint64_t inner);
  bool next();

  const plan::Run& run() const { return run_; }
  std::uint64_t inner() const { return inner_; }
  // What went wrong in a function of the experiment, or with a value that it gave.
  const std::vector<Error>& problems() const { return problems_; }
  // What the user's own rules say against the current configuration.
  void check_constraints(std::vector<Error>& reasons);

 private:
  struct Held {  // the settings of the current block, and which point each is at
    const Setting* setting = nullptr;
    std::vector<std::vector<plan::Value>> points;
    std::size_t at = 0;
  };
  plan::Value& placeholder(std::string_view field);
  void place(std::string_view field, std::int64_t number);
  void set_base(std::uint64_t base, std::uint32_t shape);
  void set_layout(std::int64_t tensor, std::int64_t pipeline, std::int64_t micro_batch);
  void add_batches(Block block, std::vector<Block>& blocks);
  void make_settings();
  void apply(const Held& held);
  void fill_placeholders();  // from the settings of the run
  void resolve();            // the run from the placeholders

  const Space& space_;
  const Part& part_;
  std::uint32_t index_;
  plan::Experiment own_;  // the part's experiment; its placeholders are written to
  plan::Frame frame_;
  plan::Resolver resolver_;
  std::vector<std::size_t> points_;
  std::uint64_t bases_ = 1;
  std::vector<Held> held_;
  plan::Run run_;
  std::vector<Error> problems_;
  std::uint64_t inner_ = 0;
};

// One for each part. All from the beginning: functions are copied by the thread that owns the space
// alone.
std::vector<std::unique_ptr<Maker>> makers_of(const Space& space);

// Walks through the blocks of a space, in leaps through all layouts of a shape, so that a search
// that is interrupted has seen some of each kind. Shared by threads: whoever is free takes the
// next.
class Cursor {
 public:
  explicit Cursor(const Space& space) : makers_(makers_of(space)) {}

  bool next(Block& block);  // false: there are no more

 private:
  bool next_row();

  std::mutex mutex_;
  std::vector<std::unique_ptr<Maker>> makers_;
  std::uint32_t part_ = 0;
  std::uint64_t base_ = 0;
  std::uint32_t shape_ = 0;
  std::vector<Block> row_;
  std::size_t at_ = 0;
  std::size_t leap_ = 1;
  std::uint64_t ordinal_ = 0;  // of the row's first
};

}  // namespace orch::search

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <thread>

#include "core/base/text.h"
#include "core/train/checkpoint/checkpoint.h"
#include "core/train/checkpoint/dtype.h"
#include "core/train/checkpoint/folders.h"
#include "core/train/checkpoint/manifest.h"
#include "core/train/checkpoint/pieces.h"
#include "core/train/checkpoint/safetensors.h"

namespace orch::checkpoint {
namespace {

std::string rank_name(int rank) { return "rank-" + std::to_string(rank); }

// The state of one call of write().
class Writing {
 public:
  Writing(const fs::path& folder, const CheckpointFacts& facts, const SavedState& saved,
          const WriteOptions& options)
      : folder_(folder),
        facts_(facts),
        saved_(saved),
        options_(options),
        token_(attempt_token(options.attempt)),
        here_(writing_folder(folder, facts.step, token_)) {}

  Status run() {
    auto status = check();
    if (!status) return status;
    try {
      status = options_.rank == 0 ? write_all() : write_share();
    } catch (const std::exception& error) {
      status = Error{printable(here_.string()), printable(error.what()), ""};
    }
    if (status) return status;
    const bool was_removed = is_made_ && options_.rank != 0 && !is_there(here_);
    clean_up(status.error());
    if (was_removed)
      return Error{printable(here_.string()), "was removed before this rank had written its share",
                   "see the log of rank 0"};
    return status;
  }

 private:
  Status check() const;
  Status write_share();
  Status write_all();
  std::vector<std::size_t> order() const;
  Result<RankNote> write_shard() const;
  Status gather(Manifest& manifest) const;
  Result<RankNote> wait_for(int rank, std::chrono::steady_clock::time_point until) const;
  Status complete(const Manifest& manifest) const;
  void clean_up(const Errors& why) const;

  const fs::path& folder_;
  const CheckpointFacts& facts_;
  const SavedState& saved_;
  const WriteOptions& options_;
  std::string token_;
  fs::path here_;
  bool is_made_ = false;
};

std::size_t size_of(const TensorPiece& piece) {
  return static_cast<std::size_t>(elements(piece)) * bytes_of(piece.dtype);
}

Status Writing::check() const {
  if (facts_.ranks > 1 && options_.attempt.empty())
    return Error{"checkpoint", "several ranks write, and the attempt is not named", ""};
  if (options_.rank < 0 || options_.rank >= facts_.ranks || facts_.step < 0)
    return Error{"checkpoint",
                 "rank " + std::to_string(options_.rank) + " of " + std::to_string(facts_.ranks) +
                     " at step " + std::to_string(facts_.step),
                 ""};
  for (const auto& [piece, data, read] : saved_.pieces) {
    if (auto status = check_piece(piece); !status) return status;
    if (!read && data.size() != size_of(piece))
      return Error{printable(piece.name), "has other bytes than its piece", ""};
  }
  return {};
}

// Large types first, so that each element is aligned in the file.
std::vector<std::size_t> Writing::order() const {
  std::vector<std::size_t> order(saved_.pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return bytes_of(saved_.pieces[a].piece.dtype) > bytes_of(saved_.pieces[b].piece.dtype);
  });
  return order;
}

// In the file a piece has the shape of its box, or is flat if it is a range of it.
TensorEntry entry_of(const SavedPiece& saved, std::uint64_t begin) {
  const auto& piece = saved.piece;
  TensorEntry entry{piece.name, std::string(name(piece.dtype)), piece.sizes, begin,
                    begin + size_of(piece)};
  if (elements(piece) != count(piece.sizes)) entry.shape = {elements(piece)};
  return entry;
}

// Several pieces of one tensor get distinct names.
void tell_apart(std::vector<TensorEntry>& entries) {
  std::map<std::string, int> seen;
  for (auto& entry : entries)
    if (const int before = seen[entry.name]++; before > 0)
      entry.name += "#" + std::to_string(before + 1);
}

Status append(const SavedPiece& saved, ShardWriter& to) {
  if (!saved.read) return to.append(saved.data);
  const auto data = saved.read();
  if (data.bytes.size() != size_of(saved.piece))
    return Error{printable(saved.piece.name), "has other bytes than its piece", ""};
  return to.append(data.bytes);
}

Result<RankNote> Writing::write_shard() const {
  RankNote note{token_, facts_.step, static_cast<std::size_t>(options_.rank), {}, {}};
  std::vector<TensorEntry> entries;
  const auto in_order = order();
  for (const auto i : in_order) {
    entries.push_back(entry_of(saved_.pieces[i], entries.empty() ? 0 : entries.back().end));
    note.pieces.push_back(saved_.pieces[i].piece);
  }
  tell_apart(entries);
  const auto header = safetensors_header(
      entries, {{"step", std::to_string(facts_.step)}, {"rank", std::to_string(options_.rank)}});
  auto& shard = note.shard;
  shard.data_begin = header.size();
  shard.bytes = header.size() + (entries.empty() ? 0 : entries.back().end);

  auto file = ShardWriter::create(here_ / shard_name(note.rank), shard.bytes);
  if (!file) return file.error();
  auto status = file->append(std::as_bytes(std::span(header)));
  for (auto i = in_order.begin(); status && i != in_order.end(); ++i)
    status = append(saved_.pieces[*i], *file);
  if (status) status = file->finish();
  if (!status) return status.error();
  shard.checksum = file->checksum();
  return note;
}

Status make_folder(const fs::path& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) return file_error(folder, "cannot create", code.value());
  return {};
}

Status Writing::write_share() {
  if (auto status = make_folder(here_); !status) return status;
  is_made_ = true;
  const auto note = write_shard();
  if (!note) return note.error();
  auto status =
      write_file_atomically(here_ / (rank_name(options_.rank) + ".json"), rank_json(*note));
  sync_folder(here_);
  return status;
}

Status Writing::write_all() {
  if (facts_.ranks == 1) remove_folder(here_);  // a killed attempt's, if it had no name
  remove_leftovers(folder_, facts_.step, token_);
  if (auto status = make_folder(here_); !status) return status;
  const auto own = write_shard();
  if (!own) return own.error();
  Manifest manifest;
  manifest.facts = facts_;
  if (auto status = manifest.add(own->shard, own->pieces); !status) return status;
  if (auto status = gather(manifest); !status) return status;
  if (auto status = complete(manifest); !status) return status;
  remove_older(folder_, facts_.step, options_.keep);
  return {};
}

Status Writing::gather(Manifest& manifest) const {
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(std::min(options_.wait_seconds, 1e8)));
  for (int rank = 1; rank < facts_.ranks; ++rank) {
    const auto note = wait_for(rank, until);
    if (!note) return note.error();
    if (auto status = manifest.add(note->shard, note->pieces); !status) return status;
  }
  return {};
}

Result<RankNote> Writing::wait_for(int rank, std::chrono::steady_clock::time_point until) const {
  const auto name = rank_name(rank);
  for (auto pause = std::chrono::milliseconds(1);;
       pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    if (const auto text = read_file(here_ / (name + ".json"))) {
      auto note = parse_rank_json(*text, (here_ / (name + ".json")).string());
      if (!note) return note.error();
      if (note->attempt == token_ && note->step == facts_.step &&
          note->rank == static_cast<std::size_t>(rank))
        return note;
    }
    if (const auto why = read_file(here_ / (name + ".failed")))
      return Error{printable(here_.string()), name + " could not write its share", *why};
    if (!is_there(here_ / shard_name(0)))
      return Error{printable(here_.string()), "was removed while the checkpoint was written",
                   "look for what removes folders there"};
    if (options_.give_up && options_.give_up())
      return Error{printable(here_.string()), "gave up waiting for " + name, ""};
    if (std::chrono::steady_clock::now() > until)
      return Error{printable(here_.string()), name + " has not written its share in time",
                   "look for what happened to that rank"};
    std::this_thread::sleep_for(pause);
  }
}

// It is renamed only if a reader can open it: otherwise it would pass for a checkpoint, and valid
// ones would be removed because of it.
Status Writing::complete(const Manifest& manifest) const {
  if (auto status = write_file_atomically(here_ / "checkpoint.json", checkpoint_json(manifest));
      !status)
    return status;
  if (const auto opened = CheckpointReader::open(here_, /*checksums=*/false); !opened)
    return Error{printable(here_.string()), "cannot be read back: " + opened.error().front().fact,
                 "report this: the checkpoints before it were kept"};
  std::error_code ignored;  // the manifest contains all of their information
  for (int rank = 1; rank < facts_.ranks; ++rank)
    fs::remove(here_ / (rank_name(rank) + ".json"), ignored);
  sync_folder(here_);
  return put_in_place(here_, folder_, facts_.step);
}

// Rank 0 removes everything; other ranks leave it the reason of their failure, so that it does not
// wait.
void Writing::clean_up(const Errors& why) const {
  if (options_.rank == 0) return remove_folder(here_);
  std::error_code ignored;
  fs::remove(here_ / (rank_name(options_.rank) + ".safetensors"), ignored);
  if (fs::exists(here_, ignored))
    (void)write_file_atomically(here_ / (rank_name(options_.rank) + ".failed"), text(why));
}

}  // namespace

Status write(const fs::path& folder, const CheckpointFacts& facts, const SavedState& saved,
             const WriteOptions& options) {
  try {
    return Writing(folder, facts, saved, options).run();
  } catch (const std::exception& error) {
    return Error{"checkpoint", printable(error.what()), ""};
  }
}

}  // namespace orch::checkpoint

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/files.h"

namespace orch::launch {

// stdout.log of an attempt: whole lines of all ranks, each as "<rank>: text" like srun -l. An
// incomplete line is held back until it ends, so that no other rank's text gets into it. A very
// long line is cut into pieces of 64 KiB. A full disk costs output, never the run.
class RankLog {
 public:
  explicit RankLog(const fs::path& file);  // appends
  ~RankLog();
  RankLog(const RankLog&) = delete;
  RankLog& operator=(const RankLog&) = delete;

  void add(std::size_t rank, std::string_view bytes);
  void close(std::size_t rank);       // writes the rest of its last line
  void say(const std::string& line);  // from the supervisor itself: "orch: line"
  void flush();                       // to the file, in one write where possible

 private:
  std::string& open_line(std::size_t rank);
  void end_line(std::size_t rank, std::string_view rest);

  Descriptor file_;
  bool failed_ = false;  // the failure has been reported
  std::string ready_;    // whole lines, not written yet
  std::vector<std::string> open_lines_;
};

}  // namespace orch::launch

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/files.h"

namespace orch::launch {

// stdout.log of an attempt: whole lines of all ranks, each as "<rank>: text" like srun -l. What a
// rank has said of a line waits until the line ends, so nobody else gets into it. A line that never
// ends is cut into pieces of 64 KiB. A full disk costs output, never the run.
class RankLog {
 public:
  explicit RankLog(const fs::path& file);  // appends
  ~RankLog();
  RankLog(const RankLog&) = delete;
  RankLog& operator=(const RankLog&) = delete;

  void add(std::size_t rank, std::string_view bytes);
  void close(std::size_t rank);       // what is left of its last line
  void say(const std::string& line);  // of the supervisor itself: "orch: line"
  void flush();                       // to the file, in one write where possible

 private:
  std::string& open_line(std::size_t rank);
  void end_line(std::size_t rank, std::string_view rest);

  Descriptor file_;
  bool failed_ = false;  // and told so
  std::string ready_;    // whole lines
  std::vector<std::string> open_lines_;
};

}  // namespace orch::launch

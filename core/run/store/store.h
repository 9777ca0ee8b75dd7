#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/draft.h"
#include "core/base/result.h"

namespace orch::store {

// A run folder to be written: runs/<experiment>/<id>/ with its frozen files.
struct NewRunFolder {
  std::string id;
  std::vector<DraftContent> files;
};

struct WriteCounts {
  std::size_t created = 0;
  std::size_t unchanged = 0;
  std::size_t refreshed = 0;  // existing runs, not started, with newer scripts or estimate
  std::size_t others = 0;     // folders of this experiment that do not belong to this plan
  bool interrupted = false;
};

// The run folders below one root. The folders are authoritative: an existing run folder is
// complete.
class RunStore {
 public:
  explicit RunStore(fs::path root) : root_(std::move(root)) {}

  fs::path folder(const std::string& experiment, const std::string& id) const;

  // Creates the missing folders. Each appears complete or not at all, whenever the process dies;
  // make(i) is called for one folder at a time. A run that was started or submitted is never
  // changed.
  Result<WriteCounts> write(const std::string& experiment, std::size_t count,
                            const std::function<Result<NewRunFolder>(std::size_t)>& make,
                            const std::function<bool()>& interrupted);

  // The folder with this id, or the only one whose id or hash has this prefix; several are an
  // error.
  Result<fs::path> find(const std::string& id) const;

 private:
  fs::path root_;
};

}  // namespace orch::store

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace orch::app {

struct DocumentOptions {
  std::string type = "auto";  // by the name: .jsonl and .ndjson are jsonl, all else text
  std::string json_key = "text";
  bool split_lines = false;
};

// Gets the documents of a file (or of "-", stdin) one after the other; an error of its own ends it.
// A file is never in memory as a whole; of a pipe, a line is.
using TakeDocument = std::function<Status(std::string_view text)>;
Status each_document(const std::string& input, const DocumentOptions& options,
                     const TakeDocument& take);

}  // namespace orch::app

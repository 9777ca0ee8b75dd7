#include "tests/record/ingest/logs.h"

#include <atomic>

#include "core/base/text.h"
#include "tests/test.h"

namespace orch::ingest {

Patterns shipped(const std::vector<fs::path>& others) {
  std::vector<fs::path> files;
  for (const auto* name :
       {"any",         "slurm",  "cuda", "colossalai", "composer",   "deepspeed", "fairseq",
        "huggingface", "litgpt", "llmc", "maxtext",    "megatron",   "mlperf",    "nanogpt",
        "nanotron",    "nemo",   "olmo", "orch",       "torchtitan", "torchtune", "verl"})
    files.push_back(fs::path(ORCH_SOURCE_DIR) / "templates/logs" / (std::string(name) + ".lua"));
  files.insert(files.end(), others.begin(), others.end());
  auto patterns = Patterns::load(files);
  INFO((patterns ? std::string() : text(patterns.error())));
  REQUIRE(patterns.has_value());
  return std::move(*patterns);
}

LogFolder::LogFolder() {
  static std::atomic<int> count = 0;
  path_ = fs::temp_directory_path() / fmt::format("orch-ingest-{}-{}", ::getpid(), count++);
  fs::create_directories(path_);
}

LogFolder::~LogFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path LogFolder::write(const std::string& name, std::string_view text) const {
  const auto path = path_ / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string log_of_case(const fs::path& folder) {
  std::ifstream file(folder / "log.txt", std::ios::binary);
  std::string out, line;
  while (std::getline(file, line)) {
    if (!line.starts_with("@ ")) {
      out += line + (file.eof() ? "" : "\n");
      continue;
    }
    const auto words = split(line, ' ');
    std::ifstream other(folder.parent_path() / words.at(1) / "log.txt", std::ios::binary);
    for (int i = 1; i <= std::stoi(words.at(3)) && std::getline(other, line); ++i)
      if (i >= std::stoi(words.at(2))) out += line + "\n";
  }
  return out;
}

Ingested read_text(std::string_view text) {
  static const Patterns patterns = shipped();
  const LogFolder folder;
  auto found = ingest({folder.write("log.txt", text).string()}, patterns);
  REQUIRE(found.has_value());
  return std::move(*found);
}

std::string iteration(long step, long of, double milliseconds, double loss) {
  return fmt::format(
      " iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration (ms): {:.1f} | "
      "learning rate: 1.000E-04 | global batch size:    64 | lm loss: {:.6E} | loss scale: 1.0 | "
      "number of skipped iterations:   0 | number of nan iterations:   0 |\n",
      step, of, step * 64, milliseconds, loss);
}

}  // namespace orch::ingest

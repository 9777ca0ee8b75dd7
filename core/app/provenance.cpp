#include "core/app/provenance.h"

#include "core/base/text.h"

namespace orch::app {
namespace {

// Runs git in the folder of the file; nothing if it fails or takes long, as on a hanging file
// system.
std::optional<Output> git(Shell& shell, const fs::path& file, std::vector<std::string> words) {
  constexpr double kPatience = 5;
  words.insert(words.begin(), "git");
  const auto folder = fs::absolute(file).parent_path();
  const auto output =
      shell.run({.argv = std::move(words), .directory = folder, .timeout_seconds = kPatience});
  if (!output || output->timed_out) return std::nullopt;
  return *output;
}

bool is_commit(std::string_view text) {
  return text.size() >= 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

store::Provenance provenance_of(Shell& shell, const plan::Experiment& experiment) {
  const fs::path file = experiment.file;
  store::Provenance out{ORCH_VERSION, file.filename(), "", "", false, {}, experiment.set};
  for (const fs::path other : experiment.includes)
    out.includes.push_back(other.lexically_relative(file.parent_path()));
  const auto head = git(shell, file, {"rev-parse", "--verify", "HEAD"});
  const std::string id(head && head->code == 0 ? trim(head->out) : "");
  if (!is_commit(id)) return out;
  const auto about = [&](std::vector<std::string> words) {
    words.push_back(file.filename());
    words.insert(words.end(), out.includes.begin(), out.includes.end());
    return git(shell, file, std::move(words));
  };
  // exit code 1: they differ. A file unknown to git is in no commit either.
  const auto difference = about({"diff", "--quiet", "HEAD", "--"});
  const auto known = about({"ls-files", "--error-unmatch", "--"});
  out.commit = id;
  out.changed = !(difference && difference->code == 0 && known && known->code == 0);
  return out;
}

}  // namespace orch::app

#include "core/app/record_output.h"

#include <fmt/format.h>

#include "core/base/text.h"

namespace orch::app {

Status check_output(const std::string& file, const std::vector<std::string>& inputs) {
  for (const auto& input : inputs) {
    std::error_code code;
    if (fs::equivalent(file, input, code) && fs::is_regular_file(file, code))
      return Error{printable(file), "is what is read: it would be lost", "-o names another file"};
  }
  return {};
}

Ending put_out(const std::string& text, const std::string& file,
               const std::vector<std::string>& inputs, Console& console) {
  if (file.empty() || file == "-") {
    console.print(text);
    return Exit::ok;
  }
  if (auto status = check_output(file, inputs); !status) return {status.error(), Exit::usage};
  if (auto status = write_output(file, text); !status) return status.error();
  console.note("written: " + printable(file) + "\n");
  return Exit::ok;
}

Result<std::vector<record::Record>> all_of(const std::vector<std::string>& words,
                                           const FindRecords& find) {
  std::vector<record::Record> out;
  Errors errors;
  for (const auto& word : words) {
    auto records = find(word);
    if (records)
      std::move(records->begin(), records->end(), std::back_inserter(out));
    else
      errors.insert(errors.end(), records.error().begin(), records.error().end());
  }
  if (!errors.empty()) return errors;
  return out;
}

Result<std::vector<record::Record>> find_all(Gatherer& gatherer,
                                             const std::vector<std::string>& words,
                                             Console& console) {
  auto records = all_of(words, [&](const auto& word) { return gatherer.find(word); });
  if (records) tell_passed(gatherer, console);
  return records;
}

void tell_passed(const Gatherer& gatherer, Console& console) {
  constexpr std::size_t kShown = 10;
  const auto& passed = gatherer.passed();
  for (std::size_t i = 0; i < passed.size() && i < kShown; ++i)
    console.note(fmt::format("passed over: {}: {}\n", printable(passed[i].file),
                             printable(passed[i].reason)));
  if (passed.size() > kShown)
    console.note(fmt::format("passed over: {} more files\n", passed.size() - kShown));
  console.complain(gatherer.troubles());
}

}  // namespace orch::app

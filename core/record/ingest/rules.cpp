#include "core/record/ingest/rules.h"

namespace orch::ingest {

void Patterns::Impl::build() {
  for (std::size_t i = 0; i < lines.size(); ++i)
    literals.add(lines[i].has, static_cast<std::uint32_t>(i));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& first = fields[i].head.front().literal;
    fields_by_byte[static_cast<unsigned char>(first.front())].push_back(
        static_cast<std::uint16_t>(i));
    literals.add(first.substr(0, first.find_last_not_of(' ') + 1),
                 kFieldsId + static_cast<std::uint32_t>(i));
  }
}

Result<Patterns> Patterns::load(const std::vector<fs::path>& files) {
  auto impl = std::make_shared<Impl>();
  Errors errors;
  // The first rule that matches a line takes it, so rules of later files are added first.
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const auto text = read_file(*file);
    if (errors.add(text)) read_patterns(*text, file->string(), *impl, errors);
  }
  if (!errors.empty()) return errors;
  impl->build();
  return Patterns(std::move(impl));
}

}  // namespace orch::ingest

#include "core/record/published/habits.h"

#include <array>

#include "core/base/csv.h"
#include "core/base/text.h"

namespace orch::published {

Result<std::vector<Habit>> parse_habits(std::string_view text, const std::string& file) {
  const auto csv = parse_csv(text, file);
  if (!csv) return csv.error();
  std::array<int, 5> places{};
  constexpr std::array kNames{"source", "gpu", "column", "value", "reason"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    places[i] = csv->column(kNames[i]);
    if (places[i] < 0)
      return Error{printable(file), "needs the columns source, gpu, column, value and reason", ""};
  }
  const int framework = csv->column("framework");
  std::vector<Habit> habits;
  for (const auto& record : csv->records) {
    const auto cell = [&](std::size_t i) {
      return std::string(trim(record.cells[static_cast<std::size_t>(places[i])]));
    };
    const auto of = framework < 0
                        ? std::string()
                        : std::string(trim(record.cells[static_cast<std::size_t>(framework)]));
    habits.push_back({cell(0), cell(1), of, cell(2), cell(3), cell(4)});
  }
  return habits;
}

}  // namespace orch::published

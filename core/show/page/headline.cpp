#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/base/units.h"
#include "core/record/record.h"
#include "core/show/page/parts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr std::size_t kMostModels = 4;  // models that get a sentence each

// True if the limits still differ in the digits that are shown.
bool has_width(const Interval& range) {
  return range.has_limits() && shown(range.low) != shown(range.high);
}

std::string limits(const Interval& range, const char* kind) {
  if (!has_width(range)) return "";
  return fmt::format(" ({} {} to {})", kind, shown(range.low), shown(range.high));
}

std::string measured_text(const Interval& days) {
  return fmt::format("<strong>{} days</strong> per 100B tokens measured{}", shown(days.value),
                     limits(days, "95 % interval"));
}

std::string estimated_text(const Interval& days, bool alone) {
  return fmt::format("{}{} days{}{} estimated{}", alone ? "<strong>" : "", shown(days.value),
                     alone ? "</strong>" : "", alone ? " per 100B tokens" : "",
                     limits(days, "90 % range"));
}

std::string name_of(const PageLine& line) {
  auto out = escape(line.name);
  const auto strategy = strategy_of(*line.record);
  if (!strategy.empty()) out += ", " + escape(strategy, kLongestName);
  if (const auto gpus = line.record->field_number("gpus"); gpus && *gpus > 0 && *gpus < 1e9)
    out += fmt::format(" on {}", plural(*gpus, "GPU"));
  return out;
}

// The best runs of a model.
struct HeadlineRun {
  const PageLine* measured = nullptr;
  const PageLine* estimated = nullptr;  // among runs without a measurement
};

// A large number if the size is unknown, so that such runs sort last.
double params_of(const HeadlineRun& best) {
  const auto& line = best.measured != nullptr ? *best.measured : *best.estimated;
  return line.record->field_number("params").value_or(1e300);
}

// Warnings about the best run: its first doubt, and a loss that is NaN.
std::string reservations(const record::Record& record) {
  std::string out;
  if (!record.doubts.empty())
    out += fmt::format(" But: {}.", escape(record.doubts.front().reason, 500));
  const auto nan = record::nan_text(record.measured);
  return nan.empty() ? out : out + fmt::format(" Its loss is {}.", nan);
}

// The line of one of several models: "12.3 with 176B, measured: r12, megatron on 384 GPUs."
std::string line_of(const HeadlineRun& best, const std::string& whose) {
  const auto& line = best.measured != nullptr ? *best.measured : *best.estimated;
  return fmt::format("<p class=\"best\"><strong>{}</strong>{}, {}: {}.{}</p>\n",
                     shown(line.numbers.best_days()->value), whose,
                     line.numbers.days.measured ? "measured" : "estimated", name_of(line),
                     reservations(*line.record));
}

// "Fastest: r12, megatron on 384 GPUs: 12.3 days per 100B tokens measured (…), 11.9 estimated."
std::string sentence(const HeadlineRun& best) {
  const auto& line = best.measured != nullptr ? *best.measured : *best.estimated;
  const auto& numbers = line.numbers;
  auto out = fmt::format("<p class=\"best\">Fastest: {}: ", name_of(line));
  if (numbers.days.measured) out += measured_text(*numbers.days.measured);
  if (numbers.days.measured && numbers.days.estimated) out += ", ";
  if (numbers.days.estimated)
    out += estimated_text(*numbers.days.estimated, !numbers.days.measured);
  out += "." + reservations(*line.record);
  if (best.measured != nullptr && best.estimated != nullptr) {
    const auto& other = *best.estimated->numbers.days.estimated;
    if (other.value < numbers.days.measured->value)
      out += fmt::format(" Not measured, and estimated to be faster: {}: {}.",
                         name_of(*best.estimated), estimated_text(other, false));
  }
  return out + "</p>\n";
}

void keep(const PageLine*& held, const PageLine& line) {
  if (held == nullptr || line.numbers.best_days()->value < held->numbers.best_days()->value)
    held = &line;
}

// Runs with an unknown model are named as such, because they may be of any size.
std::string whose(const std::string& model) {
  return model.empty() ? " of the runs whose model is not known"
                       : " with " + escape(model, kLongestName);
}

// The best run of each model (of the first few), because days of different models cannot be
// compared.
std::string best(const std::vector<PageLine>& lines) {
  std::vector<std::string> order;
  std::map<std::string, HeadlineRun> by_model;
  for (const auto& line : lines) {
    if (!line.numbers.best_days() || !counts_for_speed(*line.record)) continue;
    const auto model = size_class_of(*line.record);
    if (!by_model.contains(model)) order.push_back(model);
    auto& held = by_model[model];
    keep(line.numbers.days.measured ? held.measured : held.estimated, line);
  }
  // The fastest measured run is always shown, however many models there are.
  const auto fewest = [&](const std::string& model) {
    const auto& held = by_model[model];
    const auto* line = held.measured != nullptr ? held.measured : held.estimated;
    return std::tuple(model.empty(), held.measured == nullptr, line->numbers.best_days()->value);
  };
  if (order.size() > kMostModels)
    std::stable_sort(order.begin(), order.end(),
                     [&](const auto& a, const auto& b) { return fewest(a) < fewest(b); });
  std::stable_partition(order.begin(), order.end(),
                        [](const std::string& model) { return !model.empty(); });
  const auto shown_end =
      order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), kMostModels));
  std::stable_sort(order.begin(), shown_end, [&](const auto& a, const auto& b) {
    return params_of(by_model[a]) < params_of(by_model[b]);
  });
  if (order.size() == 1) return sentence(by_model[order[0]]);
  std::string out =
      order.empty() ? ""
                    : "<p class=\"doc\">The fastest of each model, in days per 100B tokens:</p>\n";
  for (std::size_t i = 0; i < std::min(order.size(), kMostModels); ++i)
    out += line_of(by_model[order[i]], whose(order[i]));
  if (order.size() > kMostModels)
    out += fmt::format("<p>And {}: see the table.</p>\n",
                       plural(order.size() - kMostModels, "more model"));
  return out;
}

// "105 days to train, 108 with failures, 964,175 GPU-hours, 578,505 EUR".
std::string training_text(const plan::Estimate& guess) {
  auto out = days_text(guess.days_to_train) + " to train";
  if (guess.interruptions >= 1) out += ", " + shown(guess.days_with_failures) + " with failures";
  if (guess.gpu_hours > 0)
    out += ", " + group_digits(guess.gpu_hours, guess.gpu_hours < 10 ? 2 : 0) + " GPU-hours";
  if (guess.cost > 0) out += ", " + group_digits(guess.cost) + " " + escape(guess.currency);
  return out;
}

// One large number if all runs have the same model; measured runs are preferred to estimates.
std::string winner(const std::vector<PageLine>& lines) {
  const PageLine* best = nullptr;
  std::set<std::string> models;
  const auto key = [](const PageLine& line) {
    return std::pair(!line.numbers.days.measured, line.numbers.best_days()->value);
  };
  for (const auto& line : lines) {
    if (!line.numbers.best_days() || !line.out.empty()) continue;
    models.insert(size_class_of(*line.record));
    if (best == nullptr || key(line) < key(*best)) best = &line;
  }
  if (models.size() != 1) return "";
  const auto& days = *best->numbers.best_days();
  const bool is_measured = best->numbers.days.measured.has_value();
  std::vector<std::string> means{is_measured ? "measured" : "estimated"};
  if (has_width(days))
    means.back() += fmt::format(", {} {} to {}", is_measured ? "95 % interval" : "90 % range",
                                shown(days.low), shown(days.high));
  if (best->gpus > 0)
    means.push_back(group_digits(best->gpus * 24 * days.value) + " GPU-hours per 100B tokens");
  const auto& guess = best->record->estimated;
  if (guess && guess->days_to_train > 0) means.push_back(training_text(*guess));
  std::string out = fmt::format(
      "<p class=\"big\"><b>{}</b> days per 100B tokens</p>\n<ul "
      "class=\"means\">",
      shown(days.value));
  for (const auto& each : means) out += "<li>" + each + "</li>";
  return out + "</ul>\n";
}

std::string tile(std::size_t n, std::string_view noun) {
  if (n == 0) return "";
  const auto text = plural(n, noun);
  const auto blank = text.find(' ');
  return fmt::format("<li><b>{}</b>{}</li>", text.substr(0, blank), text.substr(blank));
}

std::string counts(const Page& page, const std::vector<PageLine>& lines) {
  const auto count = [&](auto&& has) {
    return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), has));
  };
  const auto state = [](record::RunState wanted) {
    return [wanted](const PageLine& line) { return line.record->state == wanted; };
  };
  auto out = tile(lines.size(), "run");
  const auto words = [&](std::size_t n, const char* word) {
    if (n > 0) out += fmt::format("<li><b>{}</b> {}</li>", shown(static_cast<double>(n)), word);
  };
  words(count([](const PageLine& line) { return line.record->has_measurement(); }), "measured");
  words(count([](const PageLine& line) { return line.record->estimated.has_value(); }),
        "estimated");
  words(count(state(record::RunState::running)), "running");
  words(count(state(record::RunState::failed)), "failed");
  words(count([](const PageLine& line) {
          const auto& record = *line.record;
          return record.estimated && record.estimated->fit == plan::MemoryFit::oom &&
                 !record.has_measurement();
        }),
        "do not fit");
  words(count([](const PageLine& line) { return !line.record->doubts.empty(); }), "doubtful");
  words(count([](const PageLine& line) { return line.record->measured.nan_steps > 0; }),
        "with a loss of NaN");
  words(page.rejected.size(), "rejected");
  return out.empty() ? "" : "<ul class=\"counts\">" + out + "</ul>\n";
}

// Two sentences for each experiment, with a heading if there are several experiments.
std::string answers(const Page& page) {
  std::string out;
  for (std::size_t i = 0; i < page.answers.size(); ++i) {
    const auto& answer = page.answers[i];
    out += fmt::format("<section class=\"answer\" id=\"{}\">", answer_id(i));
    if (page.answers.size() > 1)
      out += fmt::format("<h2>{}</h2>", escape(answer.name, kLongestName));
    out += fmt::format("<p class=\"best\">{}</p>", escape(answer.best));
    if (!answer.sure.empty()) out += fmt::format("<p><b>How sure:</b> {}</p>", escape(answer.sure));
    out += "</section>\n";
  }
  return out;
}

}  // namespace

std::string answer_id(std::size_t answer) { return fmt::format("answer-{}", answer + 1); }

std::string headline(const Page& page, const std::vector<PageLine>& lines,
                     const std::string& lead) {
  auto out = fmt::format("<header><h1>{}</h1>\n",
                         page.title.empty() ? "Report" : escape(page.title, kLongestName));
  if (!page.doc.empty()) out += fmt::format("<p class=\"doc\">{}</p>\n", escape(page.doc));
  out += "<div class=\"opening\">\n<div>" + winner(lines) + answers(page) + best(lines) +
         counts(page, lines);
  if (lines.empty()) out += "<p>There are no runs.</p>\n";
  return out + "</div>\n" + lead + "</div>\n</header>\n";
}

}  // namespace orch::page

#include <array>

#include "tests/fuzz/doors.h"

namespace orch::fuzz {
namespace {

const std::array kFormats{"table", "md", "csv", "json"};

}  // namespace

// A table of ten rows is as good as one of a hundred, in a tenth of the time.
std::vector<Input> rows_seeds() {
  std::vector<Input> seeds;
  for (auto& seed : files_as_seeds("experiments/measured", ".csv")) {
    auto& text = seed.front().bytes;
    std::size_t end = 0;
    for (int line = 0; line < 11 && end != std::string::npos; ++line)
      end = text.find('\n', end + 1);
    if (end != std::string::npos) text.resize(end + 1);
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

void enter_rows(const Input& input) {
  furnish({{"rows.csv", bytes_of(input)}});
  const auto way = choice(input, 8);
  const auto* format = kFormats[way % 4];
  if (way < 4)
    orch({"ingest", "--csv", "rows.csv", "--cluster", "jean-zay", "--format", format});
  else if (way < 6)
    orch({"validate", "rows.csv", "--cluster", "jean-zay", "--rows", "--format", format});
  else if (way == 6)
    orch({"report", "rows.csv", "--cluster", "jean-zay", "-o", "page.html"});
  else
    orch({"calibrate", "--from", "rows.csv", "--cluster", "jean-zay", "-o", "jean-zay.yaml"});
}

std::vector<Input> log_seeds() { return files_as_seeds("tests/record/ingest/cases", "log.txt"); }

void enter_log(const Input& input) {
  furnish({{"job.out", bytes_of(input)}});
  const auto way = choice(input, 6);
  if (way < 4)
    orch({"ingest", "job.out", "--cluster", "jean-zay", "--set", "gpu=v100-32g", "--format",
          kFormats[way]});
  else if (way == 4)
    orch(
        {"report", "job.out", "--cluster", "jean-zay", "--set", "gpu=a100-80g", "-o", "page.html"});
  else
    orch({"compare", "job.out", "job.out", "--cluster", "jean-zay", "--set", "gpu=a100-80g"});
}

std::vector<Input> pattern_seeds() {
  const auto log = text_of(kSource / "tests/record/ingest/cases/megatron_2021/log.txt");
  std::vector<Input> seeds;
  for (const auto& seed : files_as_seeds("templates/logs", ".lua"))
    seeds.push_back({{"pattern.lua", bytes_of(seed)}, {"job.out", log}});
  return seeds;
}

void enter_pattern(const Input& input) {
  furnish(input);
  orch({"ingest", "job.out", "--patterns", "pattern.lua", "--format", kFormats[choice(input, 4)]});
}

std::vector<Input> records_seeds() {
  std::vector<Input> seeds;
  for (const auto* log : {"megatron_2021", "hf_2025", "deepspeed_2024", "two_runs"}) {
    furnish({{"job.out", text_of(kSource / "tests/record/ingest/cases" / log / "log.txt")}});
    orch({"ingest", "job.out", "--cluster", "jean-zay", "--set", "gpu=a100-80g", "--format", "json",
          "-o", "records.json"});
    seeds.push_back({{"", text_of(room() / "records.json")}});
  }
  return seeds;
}

void enter_records(const Input& input) {
  furnish({{"records.json", bytes_of(input)}, {"other.json", bytes_of(input)}});
  const auto way = choice(input, 7);
  if (way < 4)
    orch({"compare", "records.json", "other.json", "--format", kFormats[way]});
  else if (way == 4)
    orch({"report", "records.json", "-o", "page.html"});
  else
    orch({"report", "records.json", "--format", way == 5 ? "svg" : "csv"});
}

}  // namespace orch::fuzz

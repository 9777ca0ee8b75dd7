#pragma once

#include <string>

#include "core/plan/model.h"
#include "core/report/report.h"

namespace CLI {
class App;
}

namespace orch::cli {

// What several verbs take.
struct Common {
  std::string format = "table";
  report::Screen screen;
};

struct PlanArguments {
  Common common;
  std::string file;
  std::string where;
  std::string runs = "runs";
  double max_runs = 200'000;
  std::size_t top = 20;
  bool dry_run = false;
};

struct ExplainArguments {
  Common common;
  std::string run;
  std::string where;
  std::string runs = "runs";
};

struct ListArguments {
  Common common;
  std::string name;
};

struct ModelArguments {
  Common common;
  std::string name;
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  double bytes_per_param = 18;
  double params = 0;
  double tokens = 0;
  double gpus = 0;
  double tflops = 0;
};

// Each does its verb, prints to stdout and stderr, and returns the program's exit code.
int run_command(const PlanArguments& arguments);
int plan_command(const PlanArguments& arguments);
int explain_command(const ExplainArguments& arguments);
int backends_command(const ListArguments& arguments);
int clusters_command(const ListArguments& arguments);
int models_command(const ModelArguments& arguments);
int completion_command(const CLI::App& program, const std::string& shell);

// Prints errors to stderr and returns the code.
int fail(const Errors& errors, int code);

// Prints to stdout; a reader that went away (orch … | head) is no error of ours.
void print(const std::string& text);

}  // namespace orch::cli

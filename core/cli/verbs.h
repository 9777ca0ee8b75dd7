#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/cli/commands.h"
#include "core/cli/follow_arguments.h"

namespace orch::cli {

// Everything that the command line can say.
struct Arguments {
  PlanArguments plan;
  RunArguments run;
  FollowArguments status, watch, cancel, resume, retry, inspect, index;
  LogsArguments logs;
  DoctorArguments doctor;
  std::string submission;
  SearchArguments search;
  ExplainArguments explain;
  ProbeArguments probe;
  ListArguments backends, clusters;
  ModelArguments models;
  ValidateArguments validate;
  CalibrateArguments calibrate;
  DataBuildArguments data_build;
  DataShowArguments data_show;
  ExportArguments exports;
  ImportArguments imports;
  IngestArguments ingest;
  CompareArguments compare;
  ReportArguments report;
  CheckArguments check;
  std::string shell;
  WordsArguments words;
};

// Each adds verbs to the program, with their options, and where the arguments go.
void add_run(CLI::App& program, RunArguments& to);
void add_planning_verbs(CLI::App& program, Arguments& to);   // plan, search, explain, probe
void add_following_verbs(CLI::App& program, Arguments& to);  // status, watch, logs, ...
void add_knowledge_verbs(CLI::App& program, Arguments& to);  // backends, models, validate, ...
void add_data_verbs(CLI::App& program, Arguments& to);       // data build, data show
void add_weights_verbs(CLI::App& program, Arguments& to);    // export, import
void add_record_verbs(CLI::App& program, Arguments& to);     // ingest, compare, report, check

// What several verbs take.
void add_format(CLI::App* verb, Common& common, std::vector<std::string> formats);
void add_planning(CLI::App* verb, PlanArguments& to);

bool wants_color(int descriptor);
tables::Screen screen();  // as stdout is

}  // namespace orch::cli

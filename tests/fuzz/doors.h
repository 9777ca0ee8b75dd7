#pragma once

#include "tests/fuzz/door.h"

namespace orch::fuzz {

// Files that people write by hand: asked_doors.cpp.
std::vector<Input> experiment_seeds(), cluster_seeds(), gpus_seeds(), template_seeds(),
    launch_seeds();
void enter_experiment(const Input& input);
void enter_cluster(const Input& input);
void enter_gpus(const Input& input);
void enter_template(const Input& input);
void enter_launch(const Input& input);

// Measurements: told_doors.cpp.
std::vector<Input> rows_seeds(), log_seeds(), pattern_seeds(), records_seeds();
void enter_rows(const Input& input);
void enter_log(const Input& input);
void enter_pattern(const Input& input);
void enter_records(const Input& input);

// The content of a run folder: run_doors.cpp.
std::vector<Input> run_folder_seeds(), run_json_seeds(), events_seeds(), flight_seeds();
void enter_run_folder(const Input& input);
void enter_flight(const Input& input);

// The files of models: weights_doors.cpp.
std::vector<Input> checkpoint_seeds(), huggingface_seeds(), tokenizer_seeds(), data_seeds();
void enter_checkpoint(const Input& input);
void enter_huggingface(const Input& input);
void enter_tokenizer(const Input& input);
void enter_data(const Input& input);

// The answers of a plug-in: border_door.cpp.
std::vector<Input> border_seeds();
void enter_border(const Input& input);

}  // namespace orch::fuzz

#include "tests/fuzz/doors.h"

#include <array>

namespace orch::fuzz {

std::span<const Door> doors() {
  static const std::array all{
      Door{"experiment", experiment_seeds, enter_experiment},
      Door{"cluster", cluster_seeds, enter_cluster},
      Door{"gpus", gpus_seeds, enter_gpus},
      Door{"rows", rows_seeds, enter_rows},
      Door{"log", log_seeds, enter_log},
      Door{"pattern", pattern_seeds, enter_pattern},
      Door{"template", template_seeds, enter_template},
      Door{"launch", launch_seeds, enter_launch},
      Door{"run_folder", run_folder_seeds, enter_run_folder},
      Door{"run_json", run_json_seeds, enter_run_folder},
      Door{"events", events_seeds, enter_run_folder},
      Door{"flight", flight_seeds, enter_flight},
      Door{"records", records_seeds, enter_records},
      Door{"checkpoint", checkpoint_seeds, enter_checkpoint},
      Door{"huggingface", huggingface_seeds, enter_huggingface},
      Door{"tokenizer", tokenizer_seeds, enter_tokenizer},
      Door{"data", data_seeds, enter_data},
      Door{"border", border_seeds, enter_border},
  };
  return all;
}

}  // namespace orch::fuzz

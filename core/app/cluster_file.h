#pragma once

#include <string>

#include "core/app/app.h"
#include "core/plan/cluster.h"

namespace orch::app {

// What verbs that write a cluster's file have in common.

// Checks that a cluster can be written to this path: <name>.yaml, and not over a file of another
// kind. "" is not a path.
Status check_cluster_file(const std::string& output);

// The file to write: the output, or the cluster's own.
fs::path cluster_file(const plan::Cluster& cluster, const std::string& output);

// A cluster must be named like its file: replaces the value of the first line that begins with
// "name:".
void rename_cluster(std::string& text, const std::string& name);

// Reads the text back; an error unless it is the same cluster but for calibrated constants.
Result<plan::Cluster> read_again(const plan::Cluster& cluster, const std::string& text,
                                 const fs::path& to, hardware::Catalog& clusters);

}  // namespace orch::app

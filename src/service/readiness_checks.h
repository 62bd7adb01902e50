// The checks of GET /ready in a worker.
#pragma once

#include <string>

#include "models/registry.h"
#include "runtime/runtime.h"
#include "service/readiness.h"
#include "state/backend.h"

namespace agent_graph::service {

// Adds the checks of a worker. `state` may be null. All arguments outlive the fibers.
void AddReadinessChecks(Readiness& readiness, state::Backend* state, const models::Registry& models,
                        runtime::Runtime& runtime, const std::string& state_directory);

// kUnavailable if no data can be stored below `directory`: it is not ours to write, its file system
// is read-only, or the disk is full. Blocks.
Status CheckWritable(const std::string& directory);

}  // namespace agent_graph::service

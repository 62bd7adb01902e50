// The memory that a run holds of its request besides the messages.
#pragma once

#include <cstdint>

#include "run/run_request.h"

namespace agent_graph::run {

// Returns the weight of the config, the client's tools and the options of model calls, as
// JsonWeight counts it. A client chooses their size, and the run keeps them until its end.
uint64_t WeightBesideMessages(const RunRequest& request);

}  // namespace agent_graph::run

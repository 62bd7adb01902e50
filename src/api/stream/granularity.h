// The field `response_granularity` of a run.
#pragma once

#include <cstdint>

namespace agent_graph::api {

// Amount of state in the response. It does not change the run. In the order of kGranularities.
enum class Granularity : uint8_t { kLow, kPartial, kFull };

}  // namespace agent_graph::api

// Limits for JSON whose size was limited before it is parsed.
#pragma once

#include <limits>

#include "base/json.h"

namespace agent_graph {

// For a part of a request, whose values were counted with the operator's limit, and for output of
// user code and tools. So only nesting is limited.
inline constexpr JsonLimits kSizedJsonLimits{.values_max = std::numeric_limits<size_t>::max()};

}  // namespace agent_graph

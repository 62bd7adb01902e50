// Limits for reading back JSON that this program wrote itself.
#pragma once

#include <limits>

#include "base/json.h"

namespace agent_graph {

// The size was limited when the text was written, and it may combine several values that each had
// the maximum number of values. So only nesting is limited: a part from outside may use 128 levels
// and is placed a few levels deep.
inline constexpr JsonLimits kOwnJsonLimits{.depth_max = 160,
                                           .values_max = std::numeric_limits<size_t>::max()};

}  // namespace agent_graph

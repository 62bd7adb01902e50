// How JSON that this program wrote itself is read back.
#pragma once

#include <limits>

#include "base/json.h"

namespace agent_graph {

// Its bytes were bounded when it was written, and what it is put together from may have as many
// values as anyone could send, each. Only nesting stays bounded: a part may use the 128 levels of
// text from outside and sits a few levels deep.
inline constexpr JsonLimits kOwnJsonLimits{.depth_max = 160,
                                           .values_max = std::numeric_limits<size_t>::max()};

}  // namespace agent_graph

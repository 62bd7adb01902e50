// Conditions on the edges of a declarative graph.
//
//   {"tool_calls_pending": true}             the newest assistant message has calls without result
//   {"tool_calls_pending": ["pay"]}          one of these calls is a call of this tool
//   {"field": "customer.tier", "equals": 1}  or not_equals, above, below, contains, exists
//   {"last_text_contains": "bye"}            text of the newest message, any case (ASCII)
#pragma once

#include <functional>

#include "agent_graph/state.h"
#include "graph/object_reader.h"

namespace agent_graph::graph {

using Condition = std::function<bool(const State& state)>;

// Reads the keys of the condition from `reader`'s object. The caller reads the other keys and calls
// Finish.
Condition ReadCondition(ObjectReader& reader);

}  // namespace agent_graph::graph

// The conditions of a declarative graph's edges.
//
//   {"tool_calls_pending": true}             the newest assistant message has calls without a
//   result
//   {"field": "customer.tier", "equals": 1}  or not_equals, above, below, contains, exists
//   {"last_text_contains": "bye"}            text of the newest message, any case (ASCII)
#pragma once

#include <functional>

#include "agent_graph/state.h"
#include "graph/object_reader.h"

namespace agent_graph::graph {

using Condition = std::function<bool(const State& state)>;

// Reads the condition's keys of `reader`'s object; the caller reads its other keys and finishes it.
Condition ReadCondition(ObjectReader& reader);

}  // namespace agent_graph::graph

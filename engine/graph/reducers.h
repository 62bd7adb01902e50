// How values of state fields meet.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/graph.h"
#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::graph {

// Of reducers that need no code, by their names in documents.
std::optional<Reducer> FindReducer(std::string_view name);
std::vector<std::string> ReducerNames();

// The JSON type of a field's values, as a schema names it; empty: any.
std::string_view ValueTypeOf(Reducer reducer);
bool FitsReducer(Reducer reducer, const json& value);

// What a field of a new thread holds.
json DefaultOf(const StateField& field);

// Whether an update may be refused.
bool MayFail(Reducer reducer);

// Failures are the graph's: an update of the wrong kind, a function that threw. They name the field
// and leave `current` as it was.
Status Reduce(const StateField& field, json& current, json update);

}  // namespace agent_graph::graph

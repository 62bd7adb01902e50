// Reducers: combine the current and the new value of a state field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/graph.h"
#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::graph {

// The reducers without user code, by their names in documents.
std::optional<Reducer> FindReducer(std::string_view name);
std::vector<std::string> ReducerNames();

// The JSON type of a field's values, in the words of JSON Schema; empty: any type.
std::string_view ValueTypeOf(Reducer reducer);
bool FitsReducer(Reducer reducer, const json& value);

// The initial value of the field in a new thread.
json DefaultOf(const StateField& field);

// True if an update may be refused.
bool MayFail(Reducer reducer);

// The effect of a reducer on a field, which can be repeated without the reducer.
struct UpdateEffect {
  enum class Kind {
    kReplace,  // the field got the value
    kAppend,   // a list got the elements of the value, or the value itself if it is no list
    kMerge,    // the value, an object, was merged into the field (JSON merge patch)
  };
  Kind kind = Kind::kReplace;
  std::optional<std::string> value_json;  // nullopt: the value of the update
  size_t length = 0;                      // kAppend: length of the list before
};

// Failures are kGraph: a value of the wrong type, or a function that threw. The message names the
// field; `current` is then unchanged. `effect` may be null.
Status Reduce(const StateField& field, json& current, json update, UpdateEffect* effect);

}  // namespace agent_graph::graph

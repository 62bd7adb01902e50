// The keys `store` and `embedding`: the memory store and how its texts become vectors.
#pragma once

#include "settings/value.h"

namespace agent_graph::settings {

Status ReadStore(const Value& value, Settings& settings);
Status ReadEmbedding(const Value& value, Settings& settings);

// What only the whole document can tell.
Status CheckStore(const Settings& settings);

}  // namespace agent_graph::settings

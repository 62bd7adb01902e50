// The keys `store` and `embedding`: the memory store and how its texts are embedded as vectors.
#pragma once

#include "settings/value.h"

namespace agent_graph::settings {

Status ReadStore(const Value& value, Settings& settings);
Status ReadEmbedding(const Value& value, Settings& settings);

// Checks that need the whole document. Call it after the document was read.
Status CheckStore(const Settings& settings);

}  // namespace agent_graph::settings

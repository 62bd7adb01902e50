// agent_graph::json: JSON values. Converting from or to nlohmann::json copies the value.
#pragma once

#include <nlohmann/json.hpp>

#include "agent_graph/json_fwd.h"  // IWYU pragma: export

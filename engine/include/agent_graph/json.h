// agent_graph::json: JSON values. nlohmann::json converts to it and from it, by a copy.
#pragma once

#include <nlohmann/json.hpp>

#include "agent_graph/json_fwd.h"  // IWYU pragma: export

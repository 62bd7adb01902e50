// The key `models`: providers under the names by which graphs refer to them.
#pragma once

#include "settings/value.h"

namespace agent_graph::settings {

Status ReadModels(const Value& value, Settings& settings);

}  // namespace agent_graph::settings

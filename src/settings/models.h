// `models`: providers under the names that graphs use.
#pragma once

#include "settings/value.h"

namespace agent_graph::settings {

Status ReadModels(const Value& value, Settings& settings);

}  // namespace agent_graph::settings

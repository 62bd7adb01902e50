// The key `recovery`: how runs are continued that have lost their worker.
#pragma once

#include "settings/value.h"

namespace agent_graph::settings {

Status ReadRecovery(const Value& value, Settings& settings);

}  // namespace agent_graph::settings

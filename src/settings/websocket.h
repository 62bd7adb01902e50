// The section `websocket`.
#pragma once

#include "settings/value.h"

namespace agent_graph::settings {

Status ReadWebSocket(const Value& value, Settings& settings);
// Completes what other sections may give. Call it when all sections are read.
Status FinishWebSocket(Settings& settings);

}  // namespace agent_graph::settings

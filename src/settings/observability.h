// The key `observability`, and the OpenTelemetry variables that it overrides.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

// Call it before the document is read.
Status ApplyEnvironmentToObservability(Settings& settings);
Status ReadObservability(const Value& value, Settings& settings);

}  // namespace agent_graph::settings

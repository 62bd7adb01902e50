// The key `observability`, and the variables of OpenTelemetry that it beats.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

// To be called before the document is read.
Status ApplyEnvironmentToObservability(Settings& settings);
Status ReadObservability(const Value& value, Settings& settings);

}  // namespace agent_graph::settings

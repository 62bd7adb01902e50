// The section `token_limit`.
#pragma once

#include "settings/value.h"

namespace agent_graph::settings {

Status ReadTokenLimit(const Value& value, Settings& settings);
// Completes what other sections may give. Call it when all sections are read.
Status FinishTokenLimit(Settings& settings);

}  // namespace agent_graph::settings

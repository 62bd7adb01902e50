// The section `threads`.
#pragma once

#include "settings/value.h"

namespace agent_graph::settings {

Status ReadThreads(const Value& value, Settings& settings);

}  // namespace agent_graph::settings

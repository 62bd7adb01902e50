// The key `checkpointer`: where conversation threads are stored.
#pragma once

#include "settings/value.h"

namespace agent_graph::settings {

Status ReadCheckpointer(const Value& value, Settings& settings);

}  // namespace agent_graph::settings

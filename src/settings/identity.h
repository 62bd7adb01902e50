// Keys that configure ids and names: `id_generator` and `thread_name_generator`.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

Status ReadIdGenerator(const Value& value, Settings& settings);
Status ReadThreadNames(const Value& value, Settings& settings);

}  // namespace agent_graph::settings

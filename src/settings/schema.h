// The schema of service.json as a table: each key, its type, its bounds and its meaning.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

// Fills `settings` from the document. `settings.file`, `directory` and `mode` are set already.
Status ReadDocument(const Value& document, Settings& settings);

}  // namespace agent_graph::settings

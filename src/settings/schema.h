// The schema of service.json as tables: each key with its type, bounds and meaning.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

// Fills `settings` from the document. `settings.file`, `directory` and `mode` must be set. The text
// of a failure names the key.
Status ReadDocument(const Value& document, Settings& settings);

}  // namespace agent_graph::settings

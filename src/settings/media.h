// `media`: how uploaded files are kept and what of them is served.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

// MEDIA_* and DOCUMENT_HANDLING, which keys of `media` beat. To be called before the document is
// read.
Status ReadMediaVariables(Settings& settings);
Status ReadMedia(const Value& value, Settings& settings);
// After it: defaults that depend on other keys, and what is missing.
Status CompleteMedia(Settings& settings);

}  // namespace agent_graph::settings

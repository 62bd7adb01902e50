// The key `media`: where uploaded files are kept and which of them are accepted.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

// Reads MEDIA_* and DOCUMENT_HANDLING. Keys of `media` override them, so call it before the
// document is read.
Status ReadMediaVariables(Settings& settings);
Status ReadMedia(const Value& value, Settings& settings);
// Sets defaults that depend on other keys and checks for missing keys. Call it after the document
// was read.
Status CompleteMedia(Settings& settings);

}  // namespace agent_graph::settings

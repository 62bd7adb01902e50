// Reads service.json outside of nginx, for programs.
#pragma once

#include <string>

#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::settings {

// Loads the settings with the environment of this process. A failure is one line that begins with
// `file`, with the place in it if that is known.
Result<Settings> LoadFile(const std::string& file);

}  // namespace agent_graph::settings

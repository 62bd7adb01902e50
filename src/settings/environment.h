// The captured environment with the env file merged into it.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::settings {

inline constexpr size_t kEnvironmentFileBytesMax = 64 * 1024;

// Reads lines KEY=VALUE; blank lines, `#` comments, an `export ` prefix and quotes around the value
// are understood. What the file says beats `environment`: it is read again at each reload, while a
// running process cannot be given a new environment. Failures never quote a line, which may hold a
// secret.
Status MergeEnvironmentFile(const std::string& path, Environment& environment);
Status MergeEnvironmentText(std::string_view text, Environment& environment);

}  // namespace agent_graph::settings

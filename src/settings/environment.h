// The captured environment: the env file merged into it, and ${NAME} expanded from it.
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

// Replaces each ${NAME} by its value and ${NAME:-text} by `text` where NAME is unset or empty. An
// unset NAME without a default is an error.
Result<std::string> Expand(std::string_view text, const Environment& environment);

}  // namespace agent_graph::settings

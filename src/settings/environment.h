// Merges the env file into the captured environment.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::settings {

inline constexpr size_t kEnvironmentFileBytesMax = 64 * 1024;

// Reads lines of the form KEY=VALUE. Supports blank lines, `#` comments, the prefix `export ` and
// quotes around the value. Values of the file override `environment`: the file is read again at
// each reload, while the environment of a running process cannot change. Failures never quote a
// line, because it may hold a secret.
Status MergeEnvironmentFile(const std::string& path, Environment& environment);
// Same for the content of such a file.
Status MergeEnvironmentText(std::string_view text, Environment& environment);

}  // namespace agent_graph::settings

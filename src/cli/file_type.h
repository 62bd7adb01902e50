// Looks at files that a user names.
#pragma once

#include <filesystem>

#include "base/status.h"

namespace agent_graph::cli {

// The type of the file, `not_found` if there is none. kNotFound: it cannot be found out, because a
// folder may not be searched or the name is too long.
Result<std::filesystem::file_type> FileTypeOf(const std::filesystem::path& path);

}  // namespace agent_graph::cli

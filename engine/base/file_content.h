// The content of a file, read through its descriptor.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace agent_graph {

// Reads a regular file from its beginning, whatever the descriptor's offset: processes that share
// an inherited descriptor share its offset too. Failures are kInvalidArgument and begin with a
// verb: "is not a regular file", "is larger than 1024 bytes".
Result<std::string> ReadFileContent(int fd, int64_t bytes_max);

}  // namespace agent_graph

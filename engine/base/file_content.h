// Reads the content of a file through its descriptor.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace agent_graph {

// Reads a regular file from its beginning without using the descriptor's offset, because processes
// that share an inherited descriptor also share its offset. Failures are kInvalidArgument; the
// message begins with a verb: "is not a regular file", "is larger than 1024 bytes".
Result<std::string> ReadFileContent(int fd, int64_t bytes_max);

}  // namespace agent_graph

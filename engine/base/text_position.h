// Positions in texts that people write, in the form of editors and compilers: FILE:LINE:COLUMN.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace agent_graph {

// "3:14" for the byte at `offset`, or for the end of the text if it is beyond it. Both numbers
// count from 1; columns count UTF-8 characters.
std::string LineAndColumn(std::string_view text, size_t offset);

// One line about a failure to read `file`: "FILE:3:14: <message>" if the detail of the status is a
// position (see ParseConfigurationJson), else "FILE: <message>".
std::string FileProblem(const std::string& file, const Status& status);

}  // namespace agent_graph

// Places in texts that people write, in the form that editors and compilers use: FILE:LINE:COLUMN.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace agent_graph {

// "3:14" for the byte at `offset`, or for the end of the text. Both count from 1; columns are
// characters of UTF-8.
std::string LineAndColumn(std::string_view text, size_t offset);

// One line about a failure to read `file`: "FILE:3:14: <message>" if the status' detail is a place
// in it (see ParseConfigurationJson), else "FILE: <message>".
std::string FileProblem(const std::string& file, const Status& status);

}  // namespace agent_graph

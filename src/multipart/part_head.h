// Parses the header fields of a part, and parameters such as those of "form-data; name=…".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "multipart/parser.h"

namespace agent_graph::multipart {

// `head` is the header without the empty line. kInvalidArgument: it is not the head of a form-data
// part.
Result<Part> ParsePartHead(std::string_view head, size_t name_bytes_max);

// Names and unquoted values, in the order in which they were sent.
using Parameters = std::vector<std::pair<std::string, std::string>>;

// Reads the parameters of a header value such as `form-data; name="a"; filename="b"`. A parameter
// without `=` is skipped. kInvalidArgument: a quoted value without its closing quote, or one that
// is followed by anything but white space and a semicolon.
Result<Parameters> ParseParameters(std::string_view value);

// Returns the first parameter called `name`, ignoring case.
std::optional<std::string> FindParameter(const Parameters& parameters, std::string_view name);

}  // namespace agent_graph::multipart

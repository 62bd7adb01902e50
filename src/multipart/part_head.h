// The header fields of a part, and parameters as "form-data; name=…" has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "multipart/parser.h"

namespace agent_graph::multipart {

// `head` without the empty line. kInvalidArgument when it is no form-data part.
Result<Part> ParsePartHead(std::string_view head, size_t name_bytes_max);

// Names and unquoted values, in the order they were sent.
using Parameters = std::vector<std::pair<std::string, std::string>>;

// Reads the parameters of a header value such as `form-data; name="a"; filename="b"`. A parameter
// without `=` is skipped. kInvalidArgument: a quoted value without its closing quote, or one that
// is followed by anything but white space and a semicolon.
Result<Parameters> ParseParameters(std::string_view value);

// The first parameter called `name`, compared without case.
std::optional<std::string> FindParameter(const Parameters& parameters, std::string_view name);

}  // namespace agent_graph::multipart

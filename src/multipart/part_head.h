// The header fields of a part, and parameters as "form-data; name=…" has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "multipart/parser.h"

namespace agent_graph::multipart {

// `head` without the empty line. kInvalidArgument when it is no form-data part.
Result<Part> ParsePartHead(std::string_view head, size_t name_bytes_max);

// A parameter of a header value such as `form-data; name="a"; filename="b"`, unquoted. Names are
// compared without case; the first one counts.
std::optional<std::string> Parameter(std::string_view value, std::string_view name);

}  // namespace agent_graph::multipart

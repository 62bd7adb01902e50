// Finds values in the text of a JSON document, so that a mistake can be shown with line and column.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::cli {

// The offset of the member or element that `path` leads to, such as "app.nodes.0.tool_node"; if the
// path goes on where the document ends, that of the last one that exists. Names of members may have
// dots. Nullopt if the document has not even the first one. `text` must be valid JSON.
std::optional<size_t> PlaceOf(std::string_view text, std::string_view path);

// "FILE: PATH: reason" → "FILE:LINE:COLUMN: PATH: reason", if FILE is a JSON file that has PATH.
// Otherwise the problem itself.
std::string WithPlace(const std::string& problem, const std::string& file);

}  // namespace agent_graph::cli

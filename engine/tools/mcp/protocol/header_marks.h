// Where the schema of a tool may have the mark of an argument that is also sent as a header.
#pragma once

#include <string_view>

namespace agent_graph::tools::mcp {

inline constexpr char kHeaderMark[] = "x-mcp-header";

// True if the keyword's value is no schema, and has none in it.
constexpr bool HasPlainValue(std::string_view keyword) {
  return keyword == "enum" || keyword == "const" || keyword == "default" || keyword == "examples";
}

// True if the members of an object behind the keyword are schemas, and their names no keywords.
constexpr bool HasNamedSchemas(std::string_view keyword) {
  return keyword == "properties" || keyword == "patternProperties" || keyword == "$defs" ||
         keyword == "definitions" || keyword == "dependentSchemas";
}

}  // namespace agent_graph::tools::mcp

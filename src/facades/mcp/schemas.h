// The responses of the façade in the OpenAPI document: JSON Schemas and examples.
#pragma once

#include <string_view>

namespace agent_graph::mcp {

// JSON Schemas by name. Objects may get more members later.
inline constexpr std::string_view kSchemas = R"json({
"McpError": {
  "type": "object",
  "properties": {
    "jsonrpc": {"const": "2.0"},
    "id": {"type": ["string", "integer", "null"]},
    "error": {
      "type": "object",
      "properties": {
        "code": {"type": "integer"},
        "message": {"type": "string"},
        "data": {"type": "object"}
      },
      "required": ["code", "message"]
    }
  },
  "required": ["jsonrpc", "id", "error"]
},
"McpResponse": {
  "type": "object",
  "properties": {
    "jsonrpc": {"const": "2.0"},
    "id": {"type": ["string", "integer"]},
    "result": {"type": "object"},
    "error": {"type": "object"}
  },
  "required": ["jsonrpc", "id"]
},
"McpProtectedResource": {
  "type": "object",
  "properties": {
    "resource": {"type": "string", "description": "The address of the endpoint"},
    "authorization_servers": {"type": "array", "items": {"type": "string"}},
    "scopes_supported": {"type": "array", "items": {"type": "string"}},
    "bearer_methods_supported": {"type": "array", "items": {"type": "string"}}
  },
  "required": ["resource", "bearer_methods_supported"]
}
})json";

inline constexpr std::string_view kInitializeExample =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
      "capabilities":{},"clientInfo":{"name":"example","version":"1"}}})";

inline constexpr std::string_view kInitializedExample =
    R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",
      "capabilities":{"tools":{},"resources":{},"prompts":{}},
      "serverInfo":{"name":"support","version":"1.0.0"}}})";

inline constexpr std::string_view kEventsExample =
    "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":"
    "\"text\",\"text\":\"hello\"}]}}\n\n";

inline constexpr std::string_view kResourceExample =
    R"({"resource":"https://agent.example.com/mcp",
      "authorization_servers":["https://login.example.com"],"scopes_supported":["graph:invoke"],
      "bearer_methods_supported":["header"]})";

}  // namespace agent_graph::mcp

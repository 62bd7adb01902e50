#include "api/openapi/components.h"

namespace agent_graph::api {

const std::string_view kMemorySchemas = R"json({
  "MemoryRecord": {
    "type": "object",
    "properties": {
      "memory_id": {"type": "string"},
      "id": {"type": "string"},
      "content": {
        "description": "As it was stored",
        "anyOf": [{"type": "string"}, {"$ref": "#/components/schemas/Message"}]
      },
      "score": {"type": ["number", "null"], "description": "Only in results of a search; higher is more similar"},
      "memory_type": {"type": "string"},
      "category": {"type": "string"},
      "metadata": {"type": "object"},
      "user_id": {"type": ["string", "null"]},
      "agent_id": {"type": ["string", "null"]},
      "thread_id": {"type": ["string", "null"]},
      "timestamp": {"type": "string"}
    },
    "required": ["memory_id", "id", "content", "score", "memory_type", "category", "metadata",
                 "timestamp"]
  },
  "MemoryStored": {
    "type": "object",
    "properties": {"memory_id": {"type": "string"}},
    "required": ["memory_id"]
  },
  "MemoryResults": {
    "type": "object",
    "properties": {
      "results": {"type": "array", "items": {"$ref": "#/components/schemas/MemoryRecord"}}
    },
    "required": ["results"]
  },
  "MemoryList": {
    "type": "object",
    "properties": {
      "memories": {"type": "array", "items": {"$ref": "#/components/schemas/MemoryRecord"}},
      "next_cursor": {"type": ["string", "null"]}
    },
    "required": ["memories"]
  },
  "MemoryFound": {
    "type": "object",
    "properties": {"memory": {"$ref": "#/components/schemas/MemoryRecord"}},
    "required": ["memory"]
  },
  "MemoryDone": {
    "type": "object",
    "properties": {"success": {"const": true}, "data": {}},
    "required": ["success"]
  }
})json";

}  // namespace agent_graph::api

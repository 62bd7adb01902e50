#include "api/openapi/components.h"

namespace agent_graph::api {

const std::string_view kThreadSchemas = R"json({
  "ThreadRecord": {
    "type": "object",
    "properties": {
      "thread_id": {"type": "string"},
      "thread_name": {"type": ["string", "null"]},
      "name": {"type": ["string", "null"]},
      "user_id": {"type": ["string", "null"]},
      "metadata": {"type": "object"},
      "created_at": {"type": "string"},
      "updated_at": {"type": "string"},
      "run_id": {"type": ["string", "null"]}
    },
    "required": ["thread_id", "created_at", "updated_at"]
  },
  "ThreadList": {
    "type": "object",
    "properties": {
      "threads": {"type": "array", "items": {"$ref": "#/components/schemas/ThreadRecord"}},
      "next_cursor": {"type": ["string", "null"]}
    },
    "required": ["threads"]
  },
  "Thread": {
    "type": "object",
    "properties": {"thread_data": {"$ref": "#/components/schemas/ThreadRecord"}},
    "required": ["thread_data"]
  },
  "ThreadState": {
    "type": "object",
    "properties": {"state": {"$ref": "#/components/schemas/AgentState"}},
    "required": ["state"]
  },
  "StateUpdated": {
    "type": "object",
    "properties": {
      "updated": {"const": true},
      "state": {"$ref": "#/components/schemas/AgentState"}
    },
    "required": ["updated"]
  },
  "StateCleared": {
    "type": "object",
    "properties": {"deleted": {"const": true}},
    "required": ["deleted"]
  },
  "MessageList": {
    "type": "object",
    "properties": {
      "messages": {"type": "array", "items": {"$ref": "#/components/schemas/Message"}},
      "next_offset": {"type": "integer", "description": "Offset of the next page; absent on the last page"},
      "next_cursor": {"type": "string", "description": "Absent on the last page"}
    },
    "required": ["messages"]
  }
})json";

}  // namespace agent_graph::api

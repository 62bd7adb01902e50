#include "api/openapi_components.h"

namespace agent_graph::api {

// Answers hold content as blocks and ids as strings; requests may be looser.
const std::string_view kMessageSchemas = R"json({
  "Role": {"type": "string", "enum": ["user", "assistant", "system", "tool"]},
  "MessageInput": {
    "type": "object",
    "description": "A message as clients send it. Unknown members are ignored.",
    "properties": {
      "role": {"$ref": "#/components/schemas/Role"},
      "content": {
        "description": "May be left out where `tools_calls` holds calls",
        "anyOf": [
          {"type": "string"},
          {"type": "array", "items": {"$ref": "#/components/schemas/ContentBlock"}}
        ]
      },
      "message_id": {
        "type": ["string", "integer", "null"],
        "maximum": 18446744073709551615,
        "maxLength": 1024,
        "description": "Absent, null, \"\" and 0: the server assigns one"
      },
      "metadata": {"type": ["object", "null"]}
    },
    "required": ["role", "content"]
  },
  "ContentInput": {
    "anyOf": [{"type": "string"}, {"$ref": "#/components/schemas/MessageInput"}]
  },
  "ContentBlock": {
    "description": "Told by `type`; blocks of other types are kept as they are.",
    "anyOf": [
      {"$ref": "#/components/schemas/TextBlock"},
      {"$ref": "#/components/schemas/MediaBlock"},
      {"$ref": "#/components/schemas/ToolCallBlock"},
      {"$ref": "#/components/schemas/ToolResultBlock"},
      {"$ref": "#/components/schemas/ReasoningBlock"},
      {"$ref": "#/components/schemas/OtherBlock"}
    ]
  },
  "TextBlock": {
    "type": "object",
    "properties": {
      "type": {"const": "text"},
      "text": {"type": "string"},
      "annotations": {"type": "array"}
    },
    "required": ["type", "text"]
  },
  "MediaBlock": {
    "type": "object",
    "description": "The reference may also stand beside `type` instead of in `media`.",
    "properties": {
      "type": {"enum": ["image", "audio", "video", "document"]},
      "media": {"$ref": "#/components/schemas/MediaReference"}
    },
    "required": ["type", "media"]
  },
  "MediaReference": {
    "type": "object",
    "oneOf": [
      {
        "properties": {"kind": {"const": "url"}, "url": {"type": "string", "minLength": 1}},
        "required": ["kind", "url"]
      },
      {
        "properties": {"kind": {"const": "file_id"}, "file_id": {"type": "string", "minLength": 1}},
        "required": ["kind", "file_id"]
      },
      {
        "properties": {"kind": {"const": "data"}, "data_base64": {"type": "string", "minLength": 1}},
        "required": ["kind", "data_base64"]
      }
    ],
    "properties": {
      "mime_type": {"type": ["string", "null"]},
      "filename": {"type": ["string", "null"]},
      "size_bytes": {"type": ["integer", "null"]}
    }
  },
  "ToolCallBlock": {
    "type": "object",
    "description": "remote_tool_call: the client runs it and answers with a resume.",
    "properties": {
      "type": {"enum": ["tool_call", "remote_tool_call"]},
      "id": {"type": "string", "minLength": 1},
      "name": {"type": "string", "minLength": 1},
      "args": {"type": "object"}
    },
    "required": ["type", "id", "name"]
  },
  "ToolResultBlock": {
    "type": "object",
    "properties": {
      "type": {"const": "tool_result"},
      "call_id": {"type": "string", "minLength": 1},
      "output": {},
      "is_error": {"type": "boolean"}
    },
    "required": ["type", "call_id"]
  },
  "ReasoningBlock": {
    "type": "object",
    "properties": {
      "type": {"const": "reasoning"},
      "summary": {"type": "string"},
      "details": {"type": ["array", "null"], "items": {"type": "string"}},
      "signature": {"type": "string"}
    },
    "required": ["type"]
  },
  "OtherBlock": {
    "type": "object",
    "properties": {
      "type": {
        "type": "string",
        "minLength": 1,
        "not": {
          "enum": ["text", "image", "audio", "video", "document", "tool_call", "remote_tool_call",
                   "tool_result", "reasoning"]
        }
      }
    },
    "required": ["type"]
  },
  "Message": {
    "type": "object",
    "properties": {
      "message_id": {"type": "string"},
      "role": {"$ref": "#/components/schemas/Role"},
      "content": {"type": "array", "items": {"$ref": "#/components/schemas/ContentBlock"}},
      "delta": {"type": "boolean", "description": "In a stream: a piece of a message to come"},
      "timestamp": {"type": "number", "description": "Unix seconds"},
      "metadata": {"type": "object"}
    },
    "required": ["message_id", "role", "content"]
  }
})json";

}  // namespace agent_graph::api

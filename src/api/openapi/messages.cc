#include "api/openapi/components.h"

namespace agent_graph::api {

// Responses contain content as blocks and ids as strings. Requests allow more forms: schemas with
// names in "…Input" describe what the message codec accepts.
const std::string_view kMessageSchemas = R"json({
  "Role": {"type": "string", "enum": ["user", "assistant", "system", "tool"]},
  "MessageInput": {
    "type": "object",
    "description": "A message as clients send it. Unknown members are ignored.",
    "properties": {
      "role": {"$ref": "#/components/schemas/Role"},
      "content": {
        "description": "Optional if `tools_calls` contains calls",
        "anyOf": [
          {"type": ["string", "null"]},
          {"type": "array", "items": {"$ref": "#/components/schemas/BlockInput"}}
        ]
      },
      "message_id": {
        "type": ["string", "integer", "null"],
        "minimum": -9223372036854775808,
        "maximum": 18446744073709551615,
        "maxLength": 1024,
        "not": {"type": "string", "pattern": "(^|/)[.]{1,2}(/|$)"},
        "description": "Absent, null, \"\" and 0: the server assigns one"
      },
      "metadata": {"type": ["object", "null"]},
      "reasoning": {"type": ["string", "null"]},
      "timestamp": {
        "type": ["number", "null"],
        "minimum": 0,
        "description": "Unix seconds or milliseconds"
      },
      "tools_calls": {"type": ["array", "null"], "items": {"$ref": "#/components/schemas/CallInput"}},
      "usages": {
        "type": ["object", "null"],
        "properties": {
          "prompt_tokens": {"$ref": "#/components/schemas/CountInput"},
          "completion_tokens": {"$ref": "#/components/schemas/CountInput"},
          "total_tokens": {"$ref": "#/components/schemas/CountInput"},
          "reasoning_tokens": {"$ref": "#/components/schemas/CountInput"},
          "cache_creation_input_tokens": {"$ref": "#/components/schemas/CountInput"},
          "cache_read_input_tokens": {"$ref": "#/components/schemas/CountInput"}
        }
      }
    },
    "required": ["role"],
    "anyOf": [
      {"properties": {"content": {"type": ["string", "array"]}}, "required": ["content"]},
      {"properties": {"tools_calls": {"type": "array", "minItems": 1}}, "required": ["tools_calls"]}
    ]
  },
  "CountInput": {
    "type": ["integer", "null"],
    "minimum": -9223372036854775808,
    "maximum": 9223372036854775807
  },
  "CallInput": {
    "type": "object",
    "properties": {
      "id": {"type": "string", "minLength": 1},
      "function": {
        "type": "object",
        "properties": {
          "name": {"type": "string", "minLength": 1},
          "arguments": {
            "type": ["string", "object", "null"],
            "description": "An object, also as JSON text"
          }
        },
        "required": ["name"]
      }
    },
    "required": ["id", "function"]
  },
  "ContentInput": {
    "anyOf": [
      {"type": "string", "pattern": "\\S"},
      {"type": "array", "items": {"$ref": "#/components/schemas/BlockInput"}, "minItems": 1},
      {"$ref": "#/components/schemas/MessageInput"}
    ]
  },
  "BlockInput": {
    "description": "Selected by `type`; blocks of other types are refused.",
    "anyOf": [
      {"$ref": "#/components/schemas/TextInput"},
      {"$ref": "#/components/schemas/MediaInput"},
      {"$ref": "#/components/schemas/FlatMediaInput"},
      {"$ref": "#/components/schemas/ToolCallInput"},
      {"$ref": "#/components/schemas/ToolResultInput"},
      {"$ref": "#/components/schemas/ReasoningInput"},
      {"$ref": "#/components/schemas/DataInput"},
      {"$ref": "#/components/schemas/AnnotationInput"},
      {"$ref": "#/components/schemas/ErrorInput"}
    ]
  },
  "TextInput": {
    "type": "object",
    "properties": {
      "type": {"const": "text"},
      "text": {"type": "string"},
      "annotations": {"type": ["array", "null"]}
    },
    "required": ["type", "text"]
  },
  "MediaType": {"enum": ["image", "audio", "video", "document"]},
  "MediaInput": {
    "type": "object",
    "properties": {
      "type": {"$ref": "#/components/schemas/MediaType"},
      "media": {"$ref": "#/components/schemas/MediaReferenceInput"}
    },
    "required": ["type", "media"]
  },
  "FlatMediaInput": {
    "description": "The members of the reference are in the same object as `type`.",
    "allOf": [{"$ref": "#/components/schemas/MediaReferenceInput"}],
    "properties": {
      "type": {"$ref": "#/components/schemas/MediaType"},
      "media": {"type": "null"}
    },
    "required": ["type"]
  },
  "MediaReferenceInput": {
    "type": "object",
    "properties": {
      "kind": {"type": ["string", "null"], "description": "If absent, derived from the other members"},
      "url": {"type": ["string", "null"]},
      "file_id": {"type": ["string", "null"], "description": "Id of an uploaded file"},
      "data_base64": {"type": ["string", "null"]},
      "mime_type": {"type": ["string", "null"]},
      "filename": {"type": ["string", "null"]},
      "size_bytes": {"$ref": "#/components/schemas/CountInput"}
    },
    "anyOf": [
      {
        "properties": {
          "kind": {"enum": ["url", "", null]},
          "url": {
            "type": "string",
            "pattern": "^([Hh][Tt][Tt][Pp][Ss]?://|[Dd][Aa][Tt][Aa]:)",
            "description": "http, https or data; the service may restrict its hosts",
            "examples": ["https://example.com/cat.png"]
          }
        },
        "required": ["url"]
      },
      {
        "properties": {
          "kind": {"enum": ["file_id", "", null]},
          "file_id": {"type": "string", "minLength": 1}
        },
        "required": ["file_id"]
      },
      {
        "properties": {
          "kind": {"enum": ["data", "", null]},
          "data_base64": {"type": "string", "minLength": 1}
        },
        "required": ["data_base64"]
      }
    ]
  },
  "ToolCallInput": {
    "type": "object",
    "properties": {
      "type": {"enum": ["tool_call", "remote_tool_call"]},
      "id": {"type": "string", "minLength": 1},
      "name": {"type": "string", "minLength": 1},
      "args": {"type": ["object", "null"]}
    },
    "required": ["type", "id", "name"]
  },
  "ToolResultInput": {
    "type": "object",
    "properties": {
      "type": {"const": "tool_result"},
      "call_id": {"type": "string", "minLength": 1},
      "output": {},
      "is_error": {"type": ["boolean", "null"]},
      "status": {"type": ["string", "null"], "description": "`failed` is an error, too"}
    },
    "required": ["type", "call_id"]
  },
  "ReasoningInput": {
    "type": "object",
    "properties": {
      "type": {"const": "reasoning"},
      "summary": {"type": "string"},
      "details": {"type": ["array", "null"], "items": {"type": "string"}},
      "signature": {"type": ["string", "null"]}
    },
    "required": ["type", "summary"]
  },
  "DataInput": {
    "type": "object",
    "description": "Stored unchanged, like the next two types.",
    "properties": {
      "type": {"const": "data"},
      "mime_type": {"type": "string", "minLength": 1},
      "data_base64": {"type": ["string", "null"]},
      "media": {"type": ["object", "null"]}
    },
    "required": ["type", "mime_type"]
  },
  "AnnotationInput": {
    "type": "object",
    "properties": {
      "type": {"const": "annotation"},
      "kind": {"type": ["string", "null"]},
      "refs": {"type": ["array", "null"]},
      "spans": {"type": ["array", "null"]}
    },
    "required": ["type"]
  },
  "ErrorInput": {
    "type": "object",
    "properties": {
      "type": {"const": "error"},
      "message": {"type": "string", "minLength": 1},
      "code": {"type": ["string", "null"]},
      "data": {"type": ["object", "null"]}
    },
    "required": ["type", "message"]
  },
  "ContentBlock": {
    "description": "Selected by `type`; blocks of other types are stored unchanged.",
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
    "properties": {
      "type": {"$ref": "#/components/schemas/MediaType"},
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
    "description": "remote_tool_call: the client runs it and answers with a resume",
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
      "delta": {"type": "boolean", "description": "True in a stream for a piece of a message that follows"},
      "timestamp": {"type": "number", "description": "Unix seconds"},
      "metadata": {"type": "object"}
    },
    "required": ["message_id", "role", "content"]
  }
})json";

}  // namespace agent_graph::api

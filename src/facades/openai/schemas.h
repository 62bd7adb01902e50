// The responses of the façade in the OpenAPI document: JSON Schemas and examples.
#pragma once

#include <string_view>

namespace agent_graph::openai {

// JSON Schemas by name. Objects may get more members later.
inline constexpr std::string_view kSchemas = R"json({
"OpenAiError": {
  "type": "object",
  "properties": {"error": {
    "type": "object",
    "properties": {
      "message": {"type": "string"},
      "type": {"type": "string"},
      "param": {"type": ["string", "null"], "description": "The field with the problem"},
      "code": {"type": ["string", "null"]}
    },
    "required": ["message", "type", "param", "code"]
  }},
  "required": ["error"]
},
"OpenAiModel": {
  "type": "object",
  "properties": {
    "id": {"type": "string"},
    "object": {"const": "model"},
    "created": {"type": "integer"},
    "owned_by": {"type": "string"}
  },
  "required": ["id", "object", "created", "owned_by"]
},
"OpenAiModelList": {
  "type": "object",
  "properties": {
    "object": {"const": "list"},
    "data": {"type": "array", "items": {"$ref": "#/components/schemas/OpenAiModel"}}
  },
  "required": ["object", "data"]
},
"OpenAiToolCall": {
  "type": "object",
  "properties": {
    "id": {"type": "string"},
    "type": {"const": "function"},
    "function": {
      "type": "object",
      "properties": {
        "name": {"type": "string"},
        "arguments": {"type": "string", "description": "The text of a JSON object"}
      },
      "required": ["name", "arguments"]
    }
  },
  "required": ["id", "type", "function"]
},
"OpenAiUsage": {
  "type": "object",
  "description": "The tokens of all model calls of the run",
  "properties": {
    "prompt_tokens": {"type": "integer"},
    "completion_tokens": {"type": "integer"},
    "total_tokens": {"type": "integer"},
    "prompt_tokens_details": {"type": "object"},
    "completion_tokens_details": {"type": "object"}
  },
  "required": ["prompt_tokens", "completion_tokens", "total_tokens"]
},
"OpenAiChatCompletion": {
  "type": "object",
  "properties": {
    "id": {"type": "string", "description": "chatcmpl- and the id of the run"},
    "object": {"const": "chat.completion"},
    "created": {"type": "integer"},
    "model": {"type": "string"},
    "choices": {
      "type": "array",
      "minItems": 1,
      "maxItems": 1,
      "items": {
        "type": "object",
        "properties": {
          "index": {"const": 0},
          "message": {
            "type": "object",
            "properties": {
              "role": {"const": "assistant"},
              "content": {"type": ["string", "null"]},
              "refusal": {"type": "null"},
              "reasoning_content": {"type": "string", "description": "Reasoning of the models"},
              "tool_calls": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/OpenAiToolCall"}
              }
            },
            "required": ["role", "content"]
          },
          "logprobs": {"type": "null"},
          "finish_reason": {"enum": ["stop", "tool_calls", "length", "content_filter"]}
        },
        "required": ["index", "message", "finish_reason"]
      }
    },
    "usage": {"$ref": "#/components/schemas/OpenAiUsage"},
    "interrupt": {
      "type": "object",
      "description": "Only if the run waits for an answer of the user: why, and for what"
    }
  },
  "required": ["id", "object", "created", "model", "choices", "usage"]
},
"OpenAiItem": {
  "type": "object",
  "description": "A message, a function_call, a function_call_output or a reasoning item",
  "properties": {
    "id": {"type": "string"},
    "type": {"enum": ["message", "function_call", "function_call_output", "reasoning"]},
    "status": {"enum": ["in_progress", "completed", "incomplete"]},
    "role": {"type": "string"},
    "content": {"type": "array", "items": {"type": "object"}},
    "summary": {"type": "array", "items": {"type": "object"}},
    "call_id": {"type": "string"},
    "name": {"type": "string"},
    "arguments": {"type": "string", "description": "The text of a JSON object"},
    "output": {"type": "string"}
  },
  "required": ["id", "type", "status"]
},
"OpenAiItemList": {
  "type": "object",
  "properties": {
    "object": {"const": "list"},
    "data": {"type": "array", "items": {"$ref": "#/components/schemas/OpenAiItem"}},
    "first_id": {"type": ["string", "null"]},
    "last_id": {"type": ["string", "null"]},
    "has_more": {"type": "boolean"}
  },
  "required": ["object", "data", "first_id", "last_id", "has_more"]
},
"OpenAiResponse": {
  "type": "object",
  "description": "The members that are not named here repeat the request",
  "properties": {
    "id": {"type": "string"},
    "object": {"const": "response"},
    "created_at": {"type": "integer"},
    "status": {
      "enum": ["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
    },
    "completed_at": {"type": ["integer", "null"]},
    "error": {"type": ["object", "null"]},
    "incomplete_details": {"type": ["object", "null"]},
    "model": {"type": "string"},
    "output": {"type": "array", "items": {"$ref": "#/components/schemas/OpenAiItem"}},
    "usage": {
      "type": ["object", "null"],
      "description": "The tokens of all model calls of the run",
      "properties": {
        "input_tokens": {"type": "integer"},
        "input_tokens_details": {"type": "object"},
        "output_tokens": {"type": "integer"},
        "output_tokens_details": {"type": "object"},
        "total_tokens": {"type": "integer"}
      }
    },
    "interrupt": {
      "type": "object",
      "description": "Only if the run waits for an answer of the user: why, and for what"
    },
    "background": {"type": "boolean"},
    "store": {"type": "boolean"},
    "conversation": {"type": ["object", "null"]},
    "previous_response_id": {"type": ["string", "null"]},
    "metadata": {"type": "object"},
    "parallel_tool_calls": {"type": "boolean"},
    "tool_choice": {},
    "tools": {"type": "array", "items": {"type": "object"}}
  },
  "required": ["id", "object", "created_at", "status", "model", "output", "parallel_tool_calls",
               "tool_choice", "tools"]
},
"OpenAiConversation": {
  "type": "object",
  "properties": {
    "id": {"type": "string", "description": "The id of the thread"},
    "object": {"const": "conversation"},
    "created_at": {"type": "integer"},
    "metadata": {"type": "object", "additionalProperties": {"type": "string"}}
  },
  "required": ["id", "object", "created_at", "metadata"]
},
"OpenAiDeletedConversation": {
  "type": "object",
  "properties": {
    "id": {"type": "string"},
    "object": {"const": "conversation.deleted"},
    "deleted": {"const": true}
  },
  "required": ["id", "object", "deleted"]
},
"OpenAiDeletedResponse": {
  "type": "object",
  "properties": {
    "id": {"type": "string"},
    "object": {"const": "response"},
    "deleted": {"const": true}
  },
  "required": ["id", "object", "deleted"]
}
})json";

inline constexpr std::string_view kModelExample =
    R"({"id":"support","object":"model","created":1764190000,"owned_by":"agent-graph"})";

inline constexpr std::string_view kModelListExample =
    R"({"object":"list","data":[
      {"id":"support","object":"model","created":1764190000,"owned_by":"agent-graph"}]})";

inline constexpr std::string_view kChatRequestExample =
    R"({"model":"support","messages":[{"role":"user","content":"hello"}]})";

inline constexpr std::string_view kChatExample =
    R"({"id":"chatcmpl-5f0e8c2a-1b57-4f0e-9a51-0d6a4a0f1c11","object":"chat.completion",
      "created":1764190000,"model":"support","choices":[{"index":0,"message":{"role":"assistant",
      "content":"You said: hello","refusal":null},"logprobs":null,"finish_reason":"stop"}],
      "usage":{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16,
      "prompt_tokens_details":{"cached_tokens":0},
      "completion_tokens_details":{"reasoning_tokens":0}}})";

inline constexpr std::string_view kChatEventsExample =
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1764190000,"
    "\"model\":\"support\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":"
    "\"\"},\"finish_reason\":null}]}\n\ndata: [DONE]\n\n";

}  // namespace agent_graph::openai

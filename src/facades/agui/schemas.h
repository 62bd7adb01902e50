// The responses of the façade in the OpenAPI document: JSON Schemas and examples.
#pragma once

#include <string_view>

namespace agent_graph::agui {

// JSON Schemas by name. Objects may get more members later.
inline constexpr std::string_view kSchemas = R"json({
"AgUiError": {
  "type": "object",
  "description": "The event RUN_ERROR",
  "properties": {
    "type": {"const": "RUN_ERROR"},
    "message": {"type": "string"},
    "code": {"type": "string"},
    "details": {
      "type": "array",
      "description": "Fields of the request with a problem",
      "items": {
        "type": "object",
        "properties": {
          "loc": {"type": "array", "items": {"type": "string"}},
          "msg": {"type": "string"},
          "type": {"type": "string"}
        },
        "required": ["loc", "msg", "type"]
      }
    }
  },
  "required": ["type", "message", "code"]
},
"AgUiEvent": {
  "type": "object",
  "description": "One event of AG-UI; its other members depend on its type",
  "properties": {
    "type": {"enum": [
      "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED",
      "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
      "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
      "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT",
      "REASONING_MESSAGE_END", "REASONING_END", "REASONING_ENCRYPTED_VALUE",
      "STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT", "CUSTOM"
    ]},
    "timestamp": {"type": "integer", "description": "Milliseconds since the Unix epoch"}
  },
  "required": ["type"]
}
})json";

inline constexpr std::string_view kRunExample =
    R"({"threadId":"agui-example","runId":"run-1","protocolVersion":"1.0","state":{},
      "messages":[{"id":"u1","role":"user","content":"hello"}],"tools":[],"context":[],
      "forwardedProps":{}})";

inline constexpr std::string_view kEventsExample =
    "data: {\"type\":\"RUN_STARTED\",\"timestamp\":1764190000000,\"threadId\":\"agui-example\","
    "\"runId\":\"run-1\",\"protocolVersion\":\"1.0\"}\n\n"
    "data: {\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m1\",\"role\":\"assistant\"}\n\n"
    "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m1\",\"delta\":\"You said: hello\"}"
    "\n\n"
    "data: {\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m1\"}\n\n"
    "data: {\"type\":\"RUN_FINISHED\",\"timestamp\":1764190000900,\"threadId\":\"agui-example\","
    "\"runId\":\"run-1\",\"outcome\":{\"type\":\"success\"}}\n\n";

}  // namespace agent_graph::agui

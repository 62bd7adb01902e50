#include "api/openapi/components.h"

namespace agent_graph::api {

const std::string_view kEnvelopeSchemas = R"json({
  "Metadata": {
    "type": "object",
    "properties": {
      "request_id": {"type": "string"},
      "timestamp": {"type": "string"},
      "message": {"type": "string"}
    },
    "required": ["request_id", "timestamp", "message"]
  },
  "Error": {
    "type": "object",
    "properties": {
      "detail": {"type": "string", "description": "Description of the error for people"},
      "error_code": {"type": "string", "description": "Only if the credential was refused"},
      "error": {
        "type": "object",
        "properties": {
          "code": {"type": "string", "description": "Code of the error for programs"},
          "message": {"type": "string"},
          "details": {
            "type": "array",
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
        "required": ["code", "message", "details"]
      },
      "metadata": {"$ref": "#/components/schemas/Metadata"}
    },
    "required": ["detail", "error", "metadata"]
  },
  "Pong": {"type": "string", "const": "pong"},
  "Ready": {"type": "string", "const": "ready"},
  "Done": {
    "type": "object",
    "properties": {"success": {"type": "boolean"}, "message": {"type": "string"}},
    "required": ["success", "message"]
  }
})json";

}  // namespace agent_graph::api

#include "graph/state_schema.h"

#include "agent_graph/json.h"
#include "base/json.h"
#include "graph/reducers.h"

namespace agent_graph::graph {
namespace {

// The parts that are the same for every graph: the wire formats of engine/message and engine/run.
constexpr char kBaseSchema[] = R"({
"title": "AgentState",
"type": "object",
"description": "State of a conversation thread.",
"properties": {
  "context": {"title": "Context", "type": "array", "items": {"$ref": "#/$defs/Message"},
              "description": "Messages in the working window, oldest first."},
  "context_summary": {"title": "Context Summary", "anyOf": [{"type": "string"}, {"type": "null"}],
                      "default": null, "description": "Rolling summary of trimmed messages."},
  "execution_meta": {"$ref": "#/$defs/ExecutionState"}
},
"$defs": {
  "ExecutionState": {"title": "ExecutionState", "type": "object", "properties": {
    "current_node": {"type": "string"},
    "step": {"type": "integer"},
    "status": {"type": "string",
               "enum": ["running", "interrupted_before", "interrupted_after", "completed", "error"]},
    "is_running": {"type": "boolean"},
    "is_interrupted": {"type": "boolean"},
    "is_stopped_requested": {"type": "boolean"},
    "interrupt": {"type": "object", "properties": {
      "node": {"type": "string"}, "reason": {"type": "string"}, "status": {"type": "string"},
      "data": {}}},
    "interrupted_node": {"type": ["string", "null"]},
    "interrupt_reason": {"type": ["string", "null"]},
    "interrupt_data": {},
    "thread_id": {"type": ["string", "null"]},
    "stop_current_execution": {"type": "string", "enum": ["none", "stop_requested", "stopped"]},
    "internal_data": {"type": "object"}}},
  "Message": {"title": "Message", "type": "object", "required": ["role", "content"], "properties": {
    "message_id": {"type": "string"},
    "role": {"type": "string", "enum": ["user", "assistant", "system", "tool"]},
    "content": {"type": "array", "items": {"anyOf": [
      {"$ref": "#/$defs/TextBlock"}, {"$ref": "#/$defs/ImageBlock"}, {"$ref": "#/$defs/AudioBlock"},
      {"$ref": "#/$defs/VideoBlock"}, {"$ref": "#/$defs/DocumentBlock"},
      {"$ref": "#/$defs/DataBlock"}, {"$ref": "#/$defs/ToolCallBlock"},
      {"$ref": "#/$defs/RemoteToolCallBlock"}, {"$ref": "#/$defs/ToolResultBlock"},
      {"$ref": "#/$defs/ReasoningBlock"}, {"$ref": "#/$defs/AnnotationBlock"},
      {"$ref": "#/$defs/ErrorBlock"}]}},
    "delta": {"type": "boolean", "default": false},
    "tools_calls": {"anyOf": [{"type": "array", "items": {"type": "object"}}, {"type": "null"}]},
    "reasoning": {"type": ["string", "null"]},
    "timestamp": {"type": "number"},
    "metadata": {"type": "object"},
    "usages": {"anyOf": [{"$ref": "#/$defs/TokenUsages"}, {"type": "null"}]},
    "raw": {}}},
  "TokenUsages": {"title": "TokenUsages", "type": "object", "properties": {
    "completion_tokens": {"type": "integer"}, "prompt_tokens": {"type": "integer"},
    "total_tokens": {"type": "integer"}, "reasoning_tokens": {"type": "integer"},
    "cache_creation_input_tokens": {"type": "integer"},
    "cache_read_input_tokens": {"type": "integer"}}},
  "MediaRef": {"title": "MediaRef", "type": "object", "properties": {
    "kind": {"type": "string", "enum": ["url", "file_id", "data"], "default": "url"},
    "url": {"type": "string"}, "file_id": {"type": "string"}, "data_base64": {"type": "string"},
    "mime_type": {"type": "string"}, "filename": {"type": "string"},
    "size_bytes": {"type": "integer"}, "sha256": {"type": ["string", "null"]},
    "width": {"type": ["integer", "null"]}, "height": {"type": ["integer", "null"]},
    "duration_ms": {"type": ["integer", "null"]}, "page": {"type": ["integer", "null"]}}},
  "AnnotationRef": {"title": "AnnotationRef", "type": "object", "properties": {
    "url": {"type": ["string", "null"]}, "file_id": {"type": ["string", "null"]},
    "page": {"type": ["integer", "null"]}, "index": {"type": ["integer", "null"]},
    "title": {"type": ["string", "null"]}}},
  "TextBlock": {"title": "TextBlock", "type": "object", "properties": {
    "type": {"const": "text"}, "text": {"type": "string"}, 
    "annotations": {"type": "array", "items": {"$ref": "#/$defs/AnnotationRef"}}}},
  "ImageBlock": {"title": "ImageBlock", "type": "object", "properties": {
    "type": {"const": "image"}, "media": {"$ref": "#/$defs/MediaRef"},
    "alt_text": {"type": ["string", "null"]},
    "bbox": {"type": ["array", "null"], "items": {"type": "number"}}}},
  "AudioBlock": {"title": "AudioBlock", "type": "object", "properties": {
    "type": {"const": "audio"}, "media": {"$ref": "#/$defs/MediaRef"},
    "transcript": {"type": ["string", "null"]}, "sample_rate": {"type": ["integer", "null"]},
    "channels": {"type": ["integer", "null"]}}},
  "VideoBlock": {"title": "VideoBlock", "type": "object", "properties": {
    "type": {"const": "video"}, "media": {"$ref": "#/$defs/MediaRef"},
    "thumbnail": {"anyOf": [{"$ref": "#/$defs/MediaRef"}, {"type": "null"}]}}},
  "DocumentBlock": {"title": "DocumentBlock", "type": "object", "properties": {
    "type": {"const": "document"}, "media": {"$ref": "#/$defs/MediaRef"},
    "pages": {"type": ["array", "null"], "items": {"type": "integer"}},
    "excerpt": {"type": ["string", "null"]}}},
  "DataBlock": {"title": "DataBlock", "type": "object", "properties": {
    "type": {"const": "data"}, "mime_type": {"type": "string"},
    "data_base64": {"type": ["string", "null"]},
    "media": {"anyOf": [{"$ref": "#/$defs/MediaRef"}, {"type": "null"}]}}},
  "ToolCallBlock": {"title": "ToolCallBlock", "type": "object", "properties": {
    "type": {"const": "tool_call"}, "id": {"type": "string"}, "name": {"type": "string"},
    "args": {"type": "object"}}},
  "RemoteToolCallBlock": {"title": "RemoteToolCallBlock", "type": "object", "properties": {
    "type": {"const": "remote_tool_call"}, "id": {"type": "string"}, "name": {"type": "string"},
    "args": {"type": "object"}, "tool_type": {"const": "remote"}}},
  "ToolResultBlock": {"title": "ToolResultBlock", "type": "object", "properties": {
    "type": {"const": "tool_result"}, "call_id": {"type": "string"}, "output": {},
    "is_error": {"type": "boolean"}, "status": {"type": "string", "enum": ["completed", "failed"]}}},
  "ReasoningBlock": {"title": "ReasoningBlock", "type": "object", "properties": {
    "type": {"const": "reasoning"}, "summary": {"type": "string"},
    "details": {"type": "array", "items": {"type": "string"}}, "signature": {"type": "string"}}},
  "AnnotationBlock": {"title": "AnnotationBlock", "type": "object", "properties": {
    "type": {"const": "annotation"}, "kind": {"type": "string", "enum": ["citation", "note"]},
    "refs": {"type": "array", "items": {"$ref": "#/$defs/AnnotationRef"}},
    "spans": {"type": ["array", "null"], "items": {
      "type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}}}},
  "ErrorBlock": {"title": "ErrorBlock", "type": "object", "properties": {
    "type": {"const": "error"}, "message": {"type": "string"},
    "code": {"type": ["string", "null"]}, "data": {"type": ["object", "null"]}}}
}})";

}  // namespace

std::string StateSchemaJson(const std::vector<StateField>& fields) {
  json schema = json::parse(kBaseSchema);
  for (const StateField& field : fields) {
    json property = ParseJson(field.schema_json).value();
    if (!property.contains("title")) property["title"] = field.name;
    if (!property.contains("default")) property["default"] = ParseJson(field.default_json).value();
    if (property["default"].is_null()) property["default"] = DefaultOf(field);
    const std::string_view type = ValueTypeOf(field.reducer);
    // If the field has no initial value, null is valid, too.
    if (!type.empty() && !property["default"].is_null() && !property.contains("type")) {
      property["type"] = type;
    }
    schema["properties"][field.name] = std::move(property);
  }
  return DumpJson(schema);
}

}  // namespace agent_graph::graph

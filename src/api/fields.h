// What requests look like: tables of fields that bodies are checked against before their handlers
// see them, and that the OpenAPI document is written from.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "api/validation.h"

namespace agent_graph::api {

enum class FieldType : uint8_t {
  kAny,
  kText,
  kThreadId,  // text, or an integer that stands for its digits
  kInteger,   // 25.0 is one, too
  kNumber,
  kBoolean,
  kScalar,  // text, a number, true or false
  kChoice,
  kObject,
  kArray,
  kMessages,  // an array of messages, whose inside the message codec checks
  kContent,   // text, content blocks, or a whole message: checked by the codec, too
};

struct Field {
  std::string_view name = {};
  FieldType type = FieldType::kAny;
  std::string_view description = {};
  bool required = false;  // else it may be absent, and null is the same
  bool not_null = false;  // it may be absent, but null is a mistake
  bool not_blank = false;
  int64_t minimum = std::numeric_limits<int64_t>::min();  // of an array: entries
  int64_t maximum = std::numeric_limits<int64_t>::max();  // of a text: bytes; of an object: members
  int64_t fallback = 0;  // of an integer or a choice that is absent
  bool has_fallback = false;
  std::span<const std::string_view> choices = {};
  std::span<const Field> members = {};  // of an object; others than these are let through
  const Field* entry = nullptr;         // of an array; of an object: each member
};

// Of a body or a query. A body's name is that of its component in the OpenAPI document.
struct FieldTable {
  std::string_view name;
  std::span<const Field> fields;
};

// What the route table says about a route for its readers: the validator and the document.
struct RouteShape {
  const FieldTable* body = nullptr;  // of a WebSocket: of each frame
  const FieldTable* query = nullptr;
  std::string_view data = {};  // component of the answer's `data`; empty: anything
};

// Adds what is wrong with `object`, which stands at `location`, to `problems`.
void CheckFields(const json& object, std::span<const Field> fields,
                 const std::vector<std::string>& location, Problems& problems);

// Of a body that was checked: the value, or the field's fallback.
int64_t IntegerOf(const json& object, const Field& field);
size_t ChoiceOf(const json& object, const Field& field);

// The JSON Schema of the field, and of an object with these fields.
json SchemaOf(const Field& field);
json SchemaOf(std::span<const Field> fields);

}  // namespace agent_graph::api

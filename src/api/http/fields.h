// Tables of request fields. Bodies are checked against them before their handlers run, and the
// OpenAPI document is generated from them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "api/http/validation.h"

namespace agent_graph::api {

enum class FieldType : uint8_t {
  kAny,
  kText,
  kThreadId,  // text, or an integer with the same digits
  kInteger,   // includes 25.0
  kNumber,
  kBoolean,
  kScalar,  // a text, a number, true or false
  kChoice,
  kObject,
  kArray,
  kMessages,  // an array of messages; the message codec checks their content
  kContent,   // a text, content blocks or a whole message; the message codec checks them
};

// A field of a body or a query, or an entry of an array.
struct Field {
  std::string_view name = {};
  FieldType type = FieldType::kAny;
  std::string_view description = {};
  bool required = false;  // otherwise it may be absent or null
  bool not_null = false;  // if not required: null is still an error
  bool not_blank = false;
  int64_t minimum = std::numeric_limits<int64_t>::min();  // for an array: minimum of entries
  bool above_minimum = false;                             // a number must not be the minimum itself
  // For a text: bytes; for an object: members.
  int64_t maximum = std::numeric_limits<int64_t>::max();
  int64_t fallback = 0;  // value of an absent integer or choice
  bool has_fallback = false;
  std::span<const std::string_view> choices = {};
  std::span<const Field> members = {};  // for an object; other members are allowed
  const Field* entry = nullptr;         // for an array: each entry; for an object: each member
};

// The fields of a body or a query. The name of a body is the name of its component in the OpenAPI
// document.
struct FieldTable {
  std::string_view name;
  std::span<const Field> fields;
  // At least one of these fields must be there; the handler checks it. Empty: no such rule.
  std::span<const std::string_view> one_of = {};
};

// Shape of a route's requests and responses, for the validator and the OpenAPI document.
struct RouteShape {
  const FieldTable* body = nullptr;  // for a WebSocket: of each frame
  const FieldTable* query = nullptr;
  std::string_view data = {};  // component of `data` in the response; empty: any object
  int status = 200;            // the status of a success
  // Component of `data` in a response with status 202, for a request that may have to wait; empty:
  // there is no such response.
  std::string_view pending = {};
  bool may_be_empty = false;  // a success may be a response with status 204
  // A query may have `metadata.<name>`, for each name of `threads.indexed_metadata`.
  bool filters_metadata = false;
  // Headers beside those that every route takes and sends. Handlers check them.
  std::span<const Field> request_headers = {};
  std::span<const Field> response_headers = {};  // of a success
};

// Checks `object`, which is at `location`, and adds its problems to `problems`.
void CheckFields(const json& object, std::span<const Field> fields,
                 const std::vector<std::string>& location, Problems& problems);

// Returns the value of a field of a checked body, or the field's fallback.
int64_t IntegerOf(const json& object, const Field& field);
size_t ChoiceOf(const json& object, const Field& field);

// Returns the JSON Schema of a field, or of an object with these fields.
json SchemaOf(const Field& field);
json SchemaOf(std::span<const Field> fields);
json SchemaOf(const FieldTable& table);

}  // namespace agent_graph::api

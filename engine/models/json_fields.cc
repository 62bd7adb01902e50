#include "models/json_fields.h"

#include <algorithm>

namespace agent_graph::models {

std::string_view StringAt(const JsonNode& object, std::string_view key) {
  const JsonNode* value = FindMember(object, key);
  return value != nullptr && value->is_string() ? value->text : std::string_view();
}

const JsonNode* ObjectAt(const JsonNode& object, std::string_view key) {
  const JsonNode* value = FindMember(object, key);
  return value != nullptr && value->is_object() ? value : nullptr;
}

const JsonNode* ArrayAt(const JsonNode& object, std::string_view key) {
  const JsonNode* value = FindMember(object, key);
  return value != nullptr && value->is_array() ? value : nullptr;
}

std::optional<int64_t> IntegerAt(const JsonNode& object, std::string_view key) {
  const JsonNode* value = FindMember(object, key);
  return value != nullptr && value->is_integer ? std::optional(value->integer) : std::nullopt;
}

int64_t CountAt(const JsonNode* object, std::string_view key) {
  const int64_t count = object != nullptr ? IntegerAt(*object, key).value_or(0) : 0;
  return std::clamp<int64_t>(count, 0, kCountMax);
}

bool IsTrueAt(const JsonNode& object, std::string_view key) {
  const JsonNode* value = FindMember(object, key);
  return value != nullptr && value->type == JsonNode::Type::kTrue;
}

}  // namespace agent_graph::models

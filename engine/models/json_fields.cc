#include "models/json_fields.h"

#include <boost/json.hpp>

namespace agent_graph::models {

namespace bj = boost::json;

std::string_view TextOf(const bj::string& text) {
  return {text.data(), text.size()};
}

std::string_view StringAt(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? TextOf(value->get_string()) : std::string_view();
}

const bj::object* ObjectAt(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  return value != nullptr ? value->if_object() : nullptr;
}

const bj::array* ArrayAt(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  return value != nullptr ? value->if_array() : nullptr;
}

std::optional<int64_t> IntegerAt(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  bj::error_code error;
  const auto number = value->to_number<int64_t>(error);
  return error ? std::nullopt : std::optional(number);
}

int64_t CountAt(const bj::object* object, std::string_view key) {
  return object != nullptr ? IntegerAt(*object, key).value_or(0) : 0;
}

bool IsTrueAt(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace agent_graph::models

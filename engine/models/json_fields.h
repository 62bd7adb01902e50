// Reads members of JSON objects that may be absent or of another type.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::models {

std::string_view TextOf(const boost::json::string& text);
// Empty when it is absent, null or no string.
std::string_view StringAt(const boost::json::object& object, std::string_view key);
// Null when it is absent or no object.
const boost::json::object* ObjectAt(const boost::json::object& object, std::string_view key);
const boost::json::array* ArrayAt(const boost::json::object& object, std::string_view key);
std::optional<int64_t> IntegerAt(const boost::json::object& object, std::string_view key);
// 0 when it is absent or no number, or when there is no object.
int64_t CountAt(const boost::json::object* object, std::string_view key);
bool IsTrueAt(const boost::json::object& object, std::string_view key);

}  // namespace agent_graph::models

// Reads members of JSON objects that may be missing or of another type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/json_tree.h"

namespace agent_graph::models {

inline constexpr int64_t kCountMax = 1'000'000'000'000;

// Empty if the member is missing, null or not a string.
std::string_view StringAt(const JsonNode& object, std::string_view key);
// Null if the member is missing or not an object.
const JsonNode* ObjectAt(const JsonNode& object, std::string_view key);
// Null if the member is missing or not an array.
const JsonNode* ArrayAt(const JsonNode& object, std::string_view key);
std::optional<int64_t> IntegerAt(const JsonNode& object, std::string_view key);
// At most kCountMax, so that sums cannot overflow; 0 if the member is missing, negative or not a
// number, or if `object` is null.
int64_t CountAt(const JsonNode* object, std::string_view key);
bool IsTrueAt(const JsonNode& object, std::string_view key);

}  // namespace agent_graph::models

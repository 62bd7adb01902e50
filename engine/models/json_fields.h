// Reads members of JSON objects that may be absent or of another type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/json_tree.h"

namespace agent_graph::models {

inline constexpr int64_t kCountMax = 1'000'000'000'000;

// Empty when it is absent, null or no string.
std::string_view StringAt(const JsonNode& object, std::string_view key);
// Null when it is absent or no object.
const JsonNode* ObjectAt(const JsonNode& object, std::string_view key);
// Null when it is absent or no array.
const JsonNode* ArrayAt(const JsonNode& object, std::string_view key);
std::optional<int64_t> IntegerAt(const JsonNode& object, std::string_view key);
// At most kCountMax, so that counts may be added up; 0 when it is absent, negative or no number, or
// when there is no object.
int64_t CountAt(const JsonNode* object, std::string_view key);
bool IsTrueAt(const JsonNode& object, std::string_view key);

}  // namespace agent_graph::models

// Estimate of the memory that JSON text takes, made before it is parsed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace agent_graph {

// The weight of each part of a JSON structure: the number of bytes of plain text that take as much
// memory. A parsed value is a node of a container, and many values become messages, or text again.
namespace json_weight {
inline constexpr uint64_t kElement = 16;    // an element of an array or object
inline constexpr uint64_t kContainer = 48;  // an array or object itself
inline constexpr uint64_t kString = 80;     // also a key
inline constexpr uint64_t kMember = 96;     // a member of an object
// The most that a value, with its key, adds.
inline constexpr uint64_t kValueMax = kElement + 2 * kString + kMember;
// A message of a thread, besides its text.
inline constexpr uint64_t kMessage = 224;
}  // namespace json_weight

// Weighs a JSON text that may be cut anywhere. Reads any bytes without an error.
class JsonWeight {
 public:
  JsonWeight() = default;
  // Weighs the whole text.
  explicit JsonWeight(std::string_view text) { Add(text); }

  // Takes the next piece of the text.
  void Add(std::string_view piece);

  // The weight of the structure alone, without the bytes of the text.
  uint64_t structure() const { return structure_; }
  // Size in bytes of a long string that takes as much memory.
  uint64_t bytes() const { return text_bytes_ + structure_; }
  // The same for a parser that stops at `values_max` values.
  uint64_t bytes(uint64_t values_max) const {
    return text_bytes_ + std::min(structure_, json_weight::kValueMax * values_max);
  }

 private:
  uint64_t text_bytes_ = 0;
  uint64_t structure_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;  // the next character follows a backslash
};

}  // namespace agent_graph

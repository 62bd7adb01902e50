// Range requests and conditional requests for files (RFC 9110, 13 and 14).
#pragma once

#include <cstdint>
#include <string_view>

namespace agent_graph::api {

// The bytes to send; `first` and `length` are set for kPart.
struct ByteRange {
  enum class Kind : uint8_t { kWhole, kPart, kUnsatisfiable };
  Kind kind = Kind::kWhole;
  uint64_t first = 0;
  uint64_t length = 0;
};

// Reads the headers `range` and `if_range`, which may be empty. Ranges that are not valid, and
// requests for more than one range, select all of the `size` bytes. `size` must not be 0.
ByteRange ReadRange(std::string_view range, std::string_view if_range, std::string_view etag,
                    uint64_t size);

// True if If-None-Match contains this entity tag.
bool MatchesEtag(std::string_view if_none_match, std::string_view etag);

}  // namespace agent_graph::api

// Which part of a file a request wants, and whether it has the file already (RFC 9110, 13 and 14).
#pragma once

#include <cstdint>
#include <string_view>

namespace agent_graph::api {

struct ByteRange {
  enum class Kind : uint8_t { kWhole, kPart, kUnsatisfiable };
  Kind kind = Kind::kWhole;
  uint64_t first = 0;
  uint64_t length = 0;
};

// `range` and `if_range` are the request's headers, or empty. What cannot be understood, and more
// than one range, means the whole of the `size` bytes (never 0).
ByteRange ReadRange(std::string_view range, std::string_view if_range, std::string_view etag,
                    uint64_t size);

// If-None-Match names this entity tag.
bool MatchesEtag(std::string_view if_none_match, std::string_view etag);

}  // namespace agent_graph::api

// How the lines of a stream are framed: NDJSON or server-sent events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace agent_graph::api {

enum class Framing : uint8_t { kNdjson, kSse };

// A line of a stream on its way to a client.
struct StreamLine {
  std::string_view event;   // "message", "updates", "state" or "error"
  std::string_view cursor;  // position after the line; empty: not known
  std::string_view json;    // one line with its newline
};

// Returns the name of the event in a line that a StreamChunkWriter wrote.
std::string_view EventIn(std::string_view json);
std::string_view ContentTypeOf(Framing framing);
// Returns the bytes of a line.
std::string Frame(Framing framing, const StreamLine& line);
// Returns bytes that clients ignore: a comment or a blank line.
std::string_view HeartbeatOf(Framing framing);
// True if an Accept header asks for NDJSON by its own type.
bool AcceptsNdjson(std::string_view accept);

}  // namespace agent_graph::api

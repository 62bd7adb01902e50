// Plain data of a request and its reply, exchanged between the nginx thread and the engine. It
// contains no nginx types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"

namespace agent_graph::bridge {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

// A request body as the nginx thread received it: bytes in memory, or an own descriptor of the
// temporary file to which nginx wrote it (read and closed on the engine's io pool).
struct Body {
  std::string bytes = {};
  FileDescriptor file = {};
  uint64_t file_length = 0;  // length of `file` from offset 0; 0: the body is in `bytes`

  bool in_file() const { return file_length > 0; }
  uint64_t size() const { return in_file() ? file_length : bytes.size(); }
};

// The head of a request.
struct RequestHead {
  uint16_t route = 0;                        // index into api::Routes()
  std::vector<std::string> path_parameters;  // decoded once, in the order of the pattern
  std::string method;
  std::string base_path;  // location prefix as it appears in URLs, without a trailing slash
  std::string path;       // raw, location prefix stripped
  std::string query;      // raw, without '?'
  HeaderList headers;     // names in lower case, in order of arrival
  std::string peer_address;
  // The caller as nginx has authenticated it, for "auth": "nginx". Never taken from `headers`.
  std::string user = {};                        // agent_graph_user; empty: no user
  std::optional<std::string> user_claims = {};  // agent_graph_user_claims; none: not set
  std::string request_id;  // from the client if well-formed, otherwise made by the nginx thread
  int64_t received_micros = 0;  // monotonic; for $agent_graph_queue_time
  uint64_t run_timeout_ms = 0;  // after which the loop cancels a run; 0: never
  // Size in memory of a large body that the loop reads when it is asked for; 0: small or in a file.
  uint64_t late_body_bytes = 0;
  bool https = false;
  bool websocket = false;  // this is a WebSocket handshake

  // Returns the first value of a header by its lower-case name, or empty.
  std::string_view Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

// The head of a reply.
struct ReplyHead {
  int status = 200;
  HeaderList headers = {};      // as sent, including Content-Type
  int64_t content_length = -1;  // -1: unknown, the body is streamed
};

}  // namespace agent_graph::bridge

// What the nginx thread hands over about a request, and what comes back: plain data, no nginx.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"

namespace agent_graph::bridge {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

// A request body as the nginx thread left it: bytes in memory, or an own descriptor of the
// temporary file that nginx buffered it to (read and closed on the engine's io pool).
struct Body {
  std::string bytes;
  FileDescriptor file;
  uint64_t file_length = 0;  // bytes of `file`, from offset 0; 0: the body is in `bytes`

  bool in_file() const { return file_length > 0; }
  uint64_t size() const { return in_file() ? file_length : bytes.size(); }
};

struct RequestHead {
  uint16_t route = 0;                        // index into api::Routes()
  std::vector<std::string> path_parameters;  // decoded once, in the order of the pattern
  std::string method;
  std::string base_path;  // location prefix as URLs have it, without a slash at its end
  std::string path;       // raw, location prefix stripped
  std::string query;      // raw, without '?'
  HeaderList headers;     // names in lower case, in order of arrival
  std::string peer_address;
  std::string request_id;       // well-formed or made by the nginx thread
  int64_t received_micros = 0;  // monotonic; for $agent_graph_queue_time
  uint64_t run_timeout_ms = 0;  // after which the loop cancels a run; 0: never
  bool https = false;
  bool websocket = false;  // the handshake of one

  // First value of a header by lower-case name, or empty.
  std::string_view Header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

struct ReplyHead {
  int status = 200;
  HeaderList headers = {};      // as they go on the wire; Content-Type included
  int64_t content_length = -1;  // -1: unknown, the body is streamed
};

}  // namespace agent_graph::bridge

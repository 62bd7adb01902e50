// Arbitrary replies of HTTP servers: what is read must not depend on how the bytes are divided, and
// the limits hold.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/reply_parser.h"

namespace agent_graph::net {
namespace {

constexpr size_t kHeadMax = 512;

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Reply {
  bool failed = false;
  bool complete = false;
  bool keeps_connection = false;
  int status = 0;
  HttpHeaders headers;
  std::string body;

  bool operator==(const Reply&) const = default;
};

Reply Read(std::string_view bytes, size_t piece_bytes, bool to_head_request) {
  ReplyParser parser(to_head_request, kHeadMax);
  Reply reply;
  while (!bytes.empty() && !reply.failed && !parser.is_complete()) {
    const size_t size = std::min(bytes.size(), piece_bytes);
    reply.failed = !parser.Take(bytes.substr(0, size), reply.body).ok();
    bytes.remove_prefix(size);
  }
  reply.failed = reply.failed || !parser.TakeEnd().ok();
  if (parser.has_head()) {
    reply.status = parser.head().status;
    reply.headers = parser.head().headers;
  }
  if (reply.failed) return reply;
  reply.complete = parser.is_complete();
  Require(reply.complete && reply.status >= 200);
  // Bytes behind the reply are only seen if they come with its last ones.
  reply.keeps_connection = bytes.empty() && parser.keeps_connection();
  return reply;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool to_head_request : {false, true}) {
    const Reply whole = Read(bytes, std::max<size_t>(size, 1), to_head_request);
    size_t head_bytes = 0;
    for (const auto& [name, value] : whole.headers) head_bytes += name.size() + value.size();
    Require(head_bytes <= kHeadMax);
    Require(whole.body.size() <= size);
    for (const size_t piece_bytes : {1, 2, 7}) {
      const Reply divided = Read(bytes, piece_bytes, to_head_request);
      // A broken reply may deliver more or less of its body before the fault is found.
      Require(divided.failed == whole.failed && (whole.failed || divided == whole));
    }
  }
  return 0;
}

}  // namespace agent_graph::net

// Bytes of a hostile client through an endpoint: the events must not depend on how the bytes are
// cut, no message may exceed its limit, and the output must consist of complete frames.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "websocket/endpoint.h"

namespace {

using namespace agent_graph::websocket;  // NOLINT: the namespace under test
using agent_graph::IsUtf8;

constexpr ParserLimits kLimits[] = {
    {.frame_bytes_max = 300, .message_bytes_max = 700},
    {.frame_bytes_max = 300, .message_bytes_max = 700, .oversize = Oversize::kSkip},
};

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Trace {
  std::vector<std::string> messages;
  uint16_t close_code = 0;
  bool finished = false;
  bool operator==(const Trace&) const = default;
};

void CheckEvent(const EndpointEvent& event, const Endpoint& endpoint, const ParserLimits& limits) {
  Require(endpoint.buffered_bytes() <= limits.message_bytes_max);
  Require(event.payload.size() <= limits.message_bytes_max);
  if (event.kind == EndpointEvent::Kind::kMessage && event.opcode == Opcode::kText) {
    Require(IsUtf8(event.payload));
  }
}

// `cut`: size of the pieces; 0 passes all bytes at once.
Trace Run(std::string_view bytes, const ParserLimits& limits, size_t cut) {
  Endpoint endpoint(limits);
  Trace trace;
  std::string control;
  size_t piece = cut == 0 ? bytes.size() : cut;
  for (size_t i = 0; i < bytes.size(); i += piece) {
    std::string part(bytes.substr(i, piece));
    std::span<char> input(part);
    for (;;) {
      EndpointEvent event = endpoint.Next(input);
      CheckEvent(event, endpoint, limits);
      if (event.kind == EndpointEvent::Kind::kNeedInput) break;
      if (event.kind == EndpointEvent::Kind::kMessage) {
        trace.messages.push_back(std::move(event.payload));
      }
      control = endpoint.TakeControlFrames() + endpoint.TakeCloseFrame();
      Require(control.size() <= 2 * (2 + kControlPayloadMax));
    }
    Require(input.empty());
  }
  trace.close_code = endpoint.close_code();
  trace.finished = endpoint.finished();
  return trace;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.empty()) return 0;
  size_t cut = 1 + static_cast<uint8_t>(bytes[0]) % 13;
  bytes.remove_prefix(1);
  for (const ParserLimits& limits : kLimits) {
    Trace whole = Run(bytes, limits, 0);
    Require(Run(bytes, limits, 1) == whole);
    Require(Run(bytes, limits, cut) == whole);
  }
  return 0;
}

// Arbitrary streams of server-sent events: the events must not depend on how the bytes are divided,
// and the limits hold.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/sse.h"

namespace agent_graph::net {
namespace {

constexpr size_t kEventBytesMax = 64;

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Stream {
  std::vector<std::pair<std::string, std::string>> events;  // type and data
  std::string last_event_id;
  std::optional<std::chrono::milliseconds> retry;
  bool failed = false;

  bool operator==(const Stream&) const = default;
};

void TakeEvents(SseParser& parser, Stream& stream) {
  SseEvent event;
  while (!stream.failed) {
    const Result<bool> next = parser.Next(event);
    stream.failed = !next.ok();
    if (!next.ok() || !*next) break;
    Require(event.data.size() <= kEventBytesMax);
    stream.events.emplace_back(event.type, event.data);
  }
}

Stream Read(std::string_view bytes, size_t piece_bytes) {
  SseParser parser(kEventBytesMax);
  Stream stream;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), piece_bytes);
    parser.Feed(std::string(bytes.substr(0, size)));
    bytes.remove_prefix(size);
    TakeEvents(parser, stream);
  }
  parser.Finish();
  TakeEvents(parser, stream);
  SseEvent event;
  Require(!stream.failed || !parser.Next(event).ok());
  stream.last_event_id = parser.last_event_id();
  stream.retry = parser.retry();
  return stream;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Stream whole = Read(bytes, std::max<size_t>(size, 1));
  Require(whole.last_event_id.size() <= kSseIdBytesMax);
  Require(std::ranges::all_of(whole.last_event_id, [](char c) { return c >= ' ' && c <= '~'; }));
  for (const size_t piece_bytes : {1, 2, 7}) Require(Read(bytes, piece_bytes) == whole);
  return 0;
}

}  // namespace agent_graph::net

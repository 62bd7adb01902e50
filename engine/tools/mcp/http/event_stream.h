// Messages of a server that come as server-sent events, over one connection or several.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent_graph/json.h"
#include "base/status.h"
#include "net/http_client.h"

namespace agent_graph::tools::mcp {

// How long the rest of a body may take, so that its connection can be used again.
inline constexpr std::chrono::milliseconds kDrainTime{100};

bool IsEventStream(const net::HttpHead& head);

// Where a stream goes on after its connection has ended.
struct StreamPlace {
  std::string last_event_id;  // empty: it cannot be resumed
  std::optional<std::chrono::milliseconds> retry;
  Status failure;  // of the last connection; Ok: the server ended it
};

// Called for a stream's events, on the fiber that reads it.
struct StreamHandlers {
  // A request or a notification of the server; `place` is behind it. False: stop reading.
  std::function<bool(const json& message, const StreamPlace& place)> on_message;
  // An event with a new id has arrived.
  std::function<void(const StreamPlace& place)> on_place = {};
};

struct EventsRead {
  enum class End {
    kReply,    // the reply has arrived
    kStopped,  // on_message returned false
    kEnded,    // the server or a network fault ended the stream
  };
  End end = End::kEnded;
  json reply = nullptr;
};

// Reads `call` until the reply to request `id` or the end of the connection, and keeps `place` up
// to date. Fails where going on makes no sense: cancelled, out of time, too large, no JSON.
Result<EventsRead> ReadEvents(net::HttpCall& call, std::optional<int64_t> id,
                              const StreamHandlers& handlers, StreamPlace& place);

// When and how often a reply that was cut is asked for again. Bounded by the deadline of the call,
// by a number of connections, and by a smaller one of those that bring nothing.
class ResumePolicy {
 public:
  // How long to wait before the next connection; nullopt: enough was tried. `place` is where the
  // last connection ended.
  std::optional<std::chrono::milliseconds> Next(const StreamPlace& place);

 private:
  std::string last_event_id_;  // of the connection before
  int connections_ = 0;
  int barren_ = 0;  // connections in a row that brought no event
};

}  // namespace agent_graph::tools::mcp

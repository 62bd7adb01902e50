// Reads a server's messages that arrive as server-sent events, over one or several connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent_graph/json.h"
#include "base/status.h"
#include "net/http_client.h"
#include "tools/call/reply_memory.h"

namespace agent_graph::tools::mcp {

// Maximum time to read the rest of a body, so that its connection can be reused.
inline constexpr std::chrono::milliseconds kDrainTime{100};

bool IsEventStream(const net::HttpHead& head);

// Where to resume a stream after its connection has ended.
struct StreamPlace {
  std::string last_event_id;  // empty: it cannot be resumed
  std::optional<std::chrono::milliseconds> retry;
  Status failure;  // error of the last connection; Ok: the server closed it
};

// Returns the delay before a stream that has ended is opened again: as the server asks, but never
// less than kReopenDelayMin.
inline constexpr std::chrono::milliseconds kReopenDelayMin{500};
std::chrono::milliseconds ReopenDelay(const StreamPlace& place);

// Callbacks for a stream's events, called on the fiber that reads it.
struct StreamHandlers {
  // A request or a notification of the server; `place` is the position behind it. Return false to
  // stop reading.
  std::function<bool(const json& message, const StreamPlace& place)> on_message;
  // An event with a new id has arrived.
  std::function<void(const StreamPlace& place)> on_place = {};
  // Memory account of the call that the reply is for. Null: a large reply does not wait.
  ReplyMemory* memory = nullptr;
};

struct EventsRead {
  enum class End {
    kReply,    // the reply has arrived
    kStopped,  // on_message has returned false
    kEnded,    // the server or a network fault ended the stream
  };
  End end = End::kEnded;
  json reply = nullptr;
};

// Reads `call` until the reply to request `id` or the end of the connection, and updates `place`.
// Suspends the fiber. Fails only if resuming is useless: cancelled, timed out, too large, not JSON.
Result<EventsRead> ReadEvents(net::HttpCall& call, std::optional<int64_t> id,
                              const StreamHandlers& handlers, StreamPlace& place);

// Decides when to reconnect for the rest of an interrupted reply. Limited by the call's deadline, a
// number of connections, and a smaller number of connections without events.
class ResumePolicy {
 public:
  // Returns the delay before the next connection; nullopt to give up. `place` is where the last
  // connection ended.
  std::optional<std::chrono::milliseconds> Next(const StreamPlace& place);

 private:
  std::string last_event_id_;  // the last event on the previous connection
  int connections_ = 0;
  int barren_ = 0;  // consecutive connections without an event
};

}  // namespace agent_graph::tools::mcp

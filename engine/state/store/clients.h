// The clients that the state server knows: connected clients, those that may reconnect, and the
// replies that are kept for them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "state/rows/rows.h"

namespace agent_graph::state {

// Clients that hold or await leases are pinged at this interval. A client is silent if it has
// left this many pings unanswered, or has been disconnected for longer than the grace period. It
// then keeps each lease until the deadline of the run. A pause of our own process counts as one
// ping.
inline constexpr std::chrono::seconds kPingInterval{1};
inline constexpr unsigned kPingsUnansweredMax = 10;
inline constexpr std::chrono::seconds kReconnectGrace{10};
// How long a silent client keeps the lease of a run without a deadline.
inline constexpr std::chrono::minutes kSilenceMax{10};
// How long replies are kept for a disconnected client.
inline constexpr std::chrono::seconds kReplyRetention{100};

// A client gets no further accepted runs while the requests of those that it has not begun are
// larger than this. Their grants are in the memory of the state server, or in the client's.
inline constexpr size_t kUnbegunBytesMax = 16 * 1024 * 1024;

struct ClientEntry {
  int64_t process = 0;
  uint64_t process_start = 0;  // 0: unknown
  uint64_t connection = 0;     // 0: not connected
  MonotonicClock::time_point disconnected;
  bool answers_pings = false;
  bool takes_runs = false;      // executes accepted runs that are granted to it
  bool connected_here = false;  // to this executor, at least once
  size_t runs_granted = 0;      // accepted runs that it holds, and those of them that are suspects
  size_t suspects_granted = 0;
  size_t unbegun_bytes = 0;  // size of the grants that it has not begun; see kUnbegunBytesMax
  unsigned pings_unanswered = 0;
  // True if the process exists but does not respond, or has not reconnected. It may be stopped or
  // swapped out.
  bool silent = false;
  MonotonicClock::time_point silent_since;
  // Unacknowledged replies by operation sequence number. Only operations of IsAnswerKept hold
  // the acknowledgement back, and their callers wait no longer than the client's operation_timeout.
  // This limits the map to the operations of one client in that time.
  std::map<uint64_t, ReplyRow> replies;
  uint64_t acknowledged_below = 0;

  // True if the process is known to have ended.
  bool ProcessGone() const;
  bool CanTakeRun() const {
    return takes_runs && connection != 0 && !silent && unbegun_bytes < kUnbegunBytesMax;
  }
};

// Converts a time of the monotonic clock, which all processes of the machine share, to
// microseconds.
int64_t MonotonicMicros(MonotonicClock::time_point time);

using ClientTable = std::unordered_map<std::string, ClientEntry>;

}  // namespace agent_graph::state

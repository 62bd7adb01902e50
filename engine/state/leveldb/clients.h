// The clients the owner knows: who is connected, who may come back, and what was answered them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/clock.h"
#include "state/leveldb/rows.h"

namespace agent_graph::state {

// What a mutating operation was answered with; a large part is read again instead of kept.
struct ReplyRow {
  enum class Load : uint8_t { kNothing, kBeginRun, kThreadState };

  std::string body;  // packed reply body
  Load load = Load::kNothing;
  // For kBeginRun and kThreadState. Until it is read, another thread may have got the id.
  std::string thread_id;
  uint64_t thread_number = 0;
  // For kBeginRun.
  bool created = false;
  uint64_t lease_epoch = 0;
  uint64_t remote_tools_version = 0;
};

template <pack::SameAs<ReplyRow> T>
auto Fields(T& row) {
  return std::tie(row.body, row.load, row.thread_id, row.created, row.lease_epoch,
                  row.remote_tools_version, row.thread_number);
}

struct ClientEntry {
  int64_t process = 0;
  uint64_t process_start = 0;  // 0: not known
  uint64_t connection = 0;     // 0: not connected
  MonotonicClock::time_point disconnected;
  bool answers_pings = false;
  unsigned pings_unanswered = 0;
  // Its process exists but does not answer, or has stayed away: it may be stopped, or swapped out.
  bool silent = false;
  MonotonicClock::time_point silent_since;
  // By operation sequence number, not yet acknowledged. Only what wire::IsAnswerKept names holds
  // the acknowledgement back, and nobody waits for that longer than the client's operation_timeout:
  // what gathers here is what one client does in that time.
  std::map<uint64_t, ReplyRow> replies;
  uint64_t acknowledged_below = 0;

  // The process is known to have ended.
  bool ProcessGone() const;
};

// Uses the monotonic clock, which all processes of the machine share.
int64_t MonotonicMicros(MonotonicClock::time_point time);

using ClientTable = std::unordered_map<std::string, ClientEntry>;

}  // namespace agent_graph::state

// Runs as rows: the record of each run, runs that a worker executes on its own (accepted runs), and
// reading a run's log while it grows. Plain data.
//
// A run belongs to a client's request, or it was accepted: the state keeps its request until its
// end and grants it to a worker. If that worker dies or leaves, the run is granted to another one,
// as a new attempt. Each attempt has its own lease, so writes of an earlier attempt are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "state/pack/fields.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::state {

enum class RunState : uint8_t { kQueued, kRunning, kInterrupted, kDone, kError, kStopped };

// True for a run that has ended. A paused run has ended as well: its answer starts another run.
inline bool HasEnded(RunState state) {
  return state != RunState::kQueued && state != RunState::kRunning;
}

// Times are in microseconds since the Unix epoch; 0: not yet.
struct RunRecord {
  std::string run_id;
  std::string thread_id;
  uint64_t thread_number = 0;  // identifies the thread; not used again when the id is
  RunState state = RunState::kQueued;
  std::string reason;    // why it ended so; empty: no special reason
  uint32_t attempt = 0;  // 1 for the first; 0: not started
  std::string resumes;   // the run that had paused the thread; empty: none
  std::string graph_hash;
  int64_t created_micros = 0;
  int64_t started_micros = 0;
  int64_t finished_micros = 0;
  std::string usage_json = "{}";  // tokens and calls of all attempts, as the last one reported
  std::string current_node;
  int64_t step = 0;
  bool accepted = false;  // continues without the connection that began it
  // Index of its first entry in the thread's log. The entries of a run follow each other.
  uint64_t log_begin = 0;
};
template <pack::SameAs<RunRecord> T>
auto Fields(T& s) {
  return std::tie(s.run_id, s.thread_id, s.thread_number, s.state, s.reason, s.attempt, s.resumes,
                  s.graph_hash, s.created_micros, s.started_micros, s.finished_micros, s.usage_json,
                  s.current_node, s.step, s.accepted, s.log_begin);
}

// The client's Idempotency-Key. It belongs to the user and the route.
struct RunKey {
  std::string route;
  std::string key;
  std::string body_hash;
};
template <pack::SameAs<RunKey> T>
auto Fields(T& s) {
  return std::tie(s.route, s.key, s.body_hash);
}

// How long a key is kept, from its acceptance on.
inline constexpr int64_t kRunKeyMicros = int64_t{24} * 3600 * 1'000'000;
inline constexpr size_t kRunKeyBytesMax = 255;

// Accepts a run: durable when it returns Ok. The run waits in the thread's queue, without a limit
// but its deadline, and is granted to a worker. `begin` is used as for BeginRun; `wait_ms_max` is
// ignored. Errors as for BeginRun; a refused run stores nothing, also no key.
struct AcceptRunRequest {
  BeginRunRequest begin;
  std::string request;          // for the worker that executes it; opaque to the state
  int64_t deadline_micros = 0;  // over all attempts, since the Unix epoch; 0: none
  // A run whose worker is lost after this time is not continued; 0: it never is.
  int64_t continued_until_micros = 0;
  std::optional<RunKey> key = {};
};
template <pack::SameAs<AcceptRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.begin, s.request, s.deadline_micros, s.continued_until_micros, s.key);
}

struct AcceptRunReply {
  enum class Outcome : uint8_t {
    kAccepted,
    kRepeated,    // the key is known: `run` is the run that it began
    kOtherBody,   // the key is known with another body; no run
    kRunDeleted,  // the key is known, and the run's thread was deleted; no run
  };
  Outcome outcome = Outcome::kAccepted;
  RunRecord run;
};
template <pack::SameAs<AcceptRunReply> T>
auto Fields(T& s) {
  return std::tie(s.outcome, s.run);
}

// Maximum size of the value of a claimed key.
inline constexpr size_t kKeyValueBytesMax = 64 * 1024;

// Stores a value, instead of a run, under a key of the user, so that every worker finds it. A key
// that is in use keeps its value.
struct ClaimKeyRequest {
  std::string user;
  RunKey key;
  std::string value;
  int64_t expires_micros = 0;  // since the Unix epoch
};
template <pack::SameAs<ClaimKeyRequest> T>
auto Fields(T& s) {
  return std::tie(s.user, s.key, s.value, s.expires_micros);
}

struct FindKeyRequest {
  std::string user;
  std::string route;
  std::string key;
};
template <pack::SameAs<FindKeyRequest> T>
auto Fields(T& s) {
  return std::tie(s.user, s.route, s.key);
}

// The data of a key: the run that it began, or the value that was stored with ClaimKey.
struct KeyRecord {
  std::string body_hash;
  std::string value;
  std::string thread_id;  // empty: the key has a value
  std::string run_id;
  uint64_t thread_number = 0;  // as in RunRecord; 0: the reply of an older state server
};
template <pack::SameAs<KeyRecord> T>
auto Fields(T& s) {
  return std::tie(s.body_hash, s.value, s.thread_id, s.run_id, s.thread_number);
}

// Sent to the client that got an accepted run's lease: it calls BeginRun with this thread and run,
// which returns the lease, and executes the run. ReleaseRun gives it back for another worker.
struct GrantedRun {
  std::string thread_id;
  std::string run_id;
  uint32_t attempt = 1;
  std::string request;
  int64_t deadline_micros = 0;  // since the Unix epoch; 0: none
  // The node that the previous attempt had reached; empty: nothing was appended.
  std::string current_node;
  int64_t step = 0;
  uint64_t lease_epoch = 0;  // epoch of this attempt; 0: granted by an older build
};
template <pack::SameAs<GrantedRun> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id, s.attempt, s.request, s.deadline_micros, s.current_node,
                  s.step, s.lease_epoch);
}

// One run of a thread. kNotFound also for a thread outside of the scope.
struct GetRunRequest {
  Scope scope;
  std::string thread_id;
  std::string run_id;
};
template <pack::SameAs<GetRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.run_id);
}

// A page of a thread's runs, newest first.
struct ListRunsRequest {
  Scope scope;
  std::string thread_id;
  std::optional<RunState> run_state = {};  // only runs in this state
  uint64_t limit = 100;
  std::string cursor;
};
template <pack::SameAs<ListRunsRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.run_state, s.limit, s.cursor);
}

struct RunPage {
  std::vector<RunRecord> runs;
  std::string next_cursor;  // empty: no more
};
template <pack::SameAs<RunPage> T>
auto Fields(T& s) {
  return std::tie(s.runs, s.next_cursor);
}

// Reads entries of a run, oldest first. If there are none yet and the run has not ended, waits for
// them, or for the end, for up to `wait_ms`.
struct FollowRunRequest {
  Scope scope;
  std::string thread_id;
  std::string run_id;
  uint64_t first = 0;  // index in the thread's log; entries of earlier runs are not returned
  uint32_t entries_max = 256;
  int64_t wait_ms = 0;  // up to kFollowWaitMsMax
};
template <pack::SameAs<FollowRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.run_id, s.first, s.entries_max, s.wait_ms);
}

inline constexpr int64_t kFollowWaitMsMax = 30'000;
// Maximum number of waiting FollowRun calls: of one thread, and over all threads. Above it:
// kResourceExhausted.
inline constexpr size_t kFollowersOfThreadMax = 1024;
inline constexpr size_t kFollowersMax = 65'536;

struct IndexedEntry {
  uint64_t index = 0;  // in the thread's log
  uint64_t lease_epoch = 0;
  LogEntry entry;
};
template <pack::SameAs<IndexedEntry> T>
auto Fields(T& s) {
  return std::tie(s.index, s.lease_epoch, s.entry);
}

struct FollowRunReply {
  RunRecord run;
  std::vector<IndexedEntry> entries;
  // The run has ended and `entries` reaches its last entry.
  bool complete = false;
  // Index of the oldest entry of the run that is kept; above run.log_begin if the log was cut.
  uint64_t kept_from = 0;
  // Another number after the database was restored from a backup: see Database::history.
  uint64_t history = 0;
};
template <pack::SameAs<FollowRunReply> T>
auto Fields(T& s) {
  return std::tie(s.run, s.entries, s.complete, s.kept_from, s.history);
}

// Totals of the accepted runs of this state, and the longest time that one of them waits.
struct RunTotals {
  uint64_t continued = 0;  // attempts after the first one
  uint64_t poisoned = 0;   // runs that ended because their user code crashed workers
  // The longest time for which a run has been waiting for its thread or for a worker; 0: none does.
  int64_t longest_wait_micros = 0;
};
template <pack::SameAs<RunTotals> T>
auto Fields(T& s) {
  return std::tie(s.continued, s.poisoned, s.longest_wait_micros);
}

}  // namespace agent_graph::state

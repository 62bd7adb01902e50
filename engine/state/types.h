// The shapes the state service stores and returns. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agent_graph::state {

// Whose rows a call may touch. Given by the guard with every call, never chosen by a handler, so
// that a handler cannot express a foreign read.
struct Scope {
  enum class Kind : uint8_t { kOwner, kAll };
  Kind kind = Kind::kAll;
  std::string user_id;  // for kOwner

  static Scope All() { return {}; }
  static Scope Owner(std::string user) { return {Kind::kOwner, std::move(user)}; }
};

// A message as stored: the fields the store itself needs, and the wire JSON it never looks into.
struct StoredMessage {
  std::string id;
  uint64_t sequence = 0;  // position in the thread, assigned by the store, never reused
  std::string json;       // compact text by message::ToJsonText
};

struct ThreadRecord {
  std::string thread_id;
  std::string owner;        // user id; empty: no owner
  std::string creation_id;  // differs when an id is deleted and created again
  std::string name;
  std::string metadata_json = "{}";
  std::string last_run_id;
  int64_t created_micros = 0;
  int64_t updated_micros = 0;
};

// The part of a thread's state that is not messages. Written whole at the end of a run, small.
struct Snapshot {
  std::string fields_json = "{}";      // custom state fields
  std::optional<std::string> summary;  // context_summary
  std::string execution_json = "{}";   // execution_meta as of the last durable step: node, step,
                                       // interrupt, status, error; never the running flags
  std::string graph_name;
  std::string graph_hash;
};

// What the lease row says about a run in flight.
struct RunInFlight {
  std::string run_id;
  std::string current_node;
  int64_t step = 0;
  bool stop_requested = false;
};

// A thread's state as GET …/state and a new run see it.
struct ThreadState {
  ThreadRecord record;
  Snapshot snapshot;
  std::vector<StoredMessage> window;     // working window, oldest first
  std::optional<RunInFlight> in_flight;  // set while a live lease exists
};

struct MessagePage {
  std::vector<StoredMessage> messages;  // ascending
};

struct ThreadPage {
  std::vector<ThreadRecord> threads;  // newest first
  std::string next_cursor;            // empty: no more
};

struct PageRequest {
  std::string search;  // empty: everything
  uint64_t offset = 0;
  uint64_t limit = 100;
  std::string cursor;  // from an earlier page; offset is then counted from there
};

// One entry of a thread's run log, append-only.
struct LogEntry {
  std::string kind;  // run_started, node_started, message, state_update, tool_intent, tool_started,
                     // tool_finished, interrupted, run_finished, ...
  std::string json;  // the entry's own fields
  int64_t micros = 0;
};

// --- operations ----------------------------------------------------------------------------

// Takes the thread's lease and loads what a run needs, in one round trip.
struct BeginRun {
  Scope scope;
  std::string thread_id;
  std::string user_id;      // owner if the thread is created
  std::string creation_id;  // used if the thread is created
  std::string thread_name;  // used if the thread is created
  std::string run_id;
  std::string graph_name;
  std::string graph_hash;
  std::optional<uint64_t> window_max = 100;  // messages; nullopt: all, bounded at 10,000
  bool enqueue_if_busy = true;               // false: kBusy at once
  int64_t wait_ms_max = 60'000;              // in the thread queue; then kBusy
  uint32_t queue_max = 16;                   // runs waiting for this thread; beyond: kBusy
};

struct BeginRunReply {
  bool created = false;
  uint64_t lease_epoch = 0;
  ThreadState state;
};

// A fenced append: refused with kFenced once the lease is not ours any more.
struct AppendRun {
  std::string thread_id;
  std::string run_id;
  uint64_t lease_epoch = 0;
  std::vector<LogEntry> entries;
  std::vector<StoredMessage> messages;  // new ones (sequence ignored), appended to history +
                                        // window; an id that exists already is left as it is
  std::string current_node;
  int64_t step = 0;
  bool durable = false;  // fsync before the reply (a tool that is not idempotent comes next)
};

struct AppendRunReply {
  bool stop_requested = false;
};

// The last append of a run: snapshot and release.
struct FinishRun {
  AppendRun append;
  Snapshot snapshot;
  std::string status;  // done | error | stopped | interrupted
};

struct StopReply {
  bool running = false;
  std::string run_id;
};

// PUT …/state. Objects merge deeply, scalars and lists replace, null clears, `context` messages are
// merged by id. Creates the thread when there is none.
struct PutState {
  Scope scope;
  std::string thread_id;
  std::string user_id;
  std::string creation_id;
  std::string fields_json = "{}";
  bool summary_present = false;
  std::optional<std::string> summary;  // with summary_present: nullopt clears it
  std::vector<StoredMessage> messages;
  bool context_cleared = false;  // `context: null`
};

struct AppendMessages {
  Scope scope;
  std::string thread_id;
  std::string user_id;
  std::string creation_id;
  std::vector<StoredMessage> messages;
  std::string metadata_json = "{}";  // merged into the thread's metadata
};

}  // namespace agent_graph::state

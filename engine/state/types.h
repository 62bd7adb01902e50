// The shapes the state service stores and returns. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

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

// In a thread's metadata: what a realtime provider knows the conversation by. It goes when the
// state is cleared, lest the provider go on with what was to be forgotten.
inline constexpr std::string_view kResumptionHandle = "resumption_handle";

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
  std::vector<std::string> queued_runs = {};  // that wait for it to end, in the order of turns
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
  std::string next_cursor;              // empty: no more
};

// The cursor of the page that begins at a message; `skip` more that are found are passed over.
std::string CursorOfMessage(uint64_t sequence, uint64_t skip = 0);

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

// Takes the thread's lease and loads what a run needs, in one round trip. kConflict while another
// run of that id is in flight on the thread or waits for it.
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
  bool new_thread_only = false;              // kConflict when the thread exists, whoever owns it
  // The longest the run may take, from now on; 0: no bound. Somebody else ends it in time: this is
  // when the thread of a process that does not answer any more is given to the next run.
  int64_t run_ms_max = 0;
};

struct BeginRunReply {
  bool created = false;
  uint64_t lease_epoch = 0;
  ThreadState state;
  uint64_t remote_tools_version = 0;  // of RemoteTools as of the grant
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
  // The place of entries[0] among all of the run's: what an append had written whose reply was lost
  // is not written again. Empty (another build, a second writer): all are new.
  std::optional<uint64_t> first_entry = {};
  std::string metadata_json = {};  // merged into the thread's metadata; empty: nothing
};

struct AppendRunReply {
  bool stop_requested = false;
};

// What a run takes out of the window; history keeps it.
struct ForgottenMessages {
  uint64_t through = 0;          // those it has loaded, up to this sequence number
  std::vector<std::string> ids;  // and of its own
};

// A tool call that a paused thread has no result of, and the messages that carry it.
struct OpenCall {
  std::string id;
  bool remote = false;  // handed to the client, which brings the result
  std::vector<std::string> message_ids;
};

// The last append of a run: snapshot and release. Where somebody else has changed the state during
// the run, the later change of each field wins, by its place in the log; what the run has not
// changed is not written back.
struct FinishRun {
  AppendRun append;
  Snapshot snapshot;
  std::string status;               // done | error | stopped | interrupted
  std::string thread_name;          // for a thread that has no name yet; empty: leaves it so
  std::optional<uint64_t> retired;  // a place in the frame: workers of another build fill it
  std::vector<std::string> changed_fields;  // of snapshot.fields_json
  bool summary_changed = false;
  bool state_unread = false;  // the run could not read the state: the snapshot stays as it is
  ForgottenMessages forgotten;
  // The place, among all entries of the run, of the last change of each of changed_fields, and of
  // the summary. Empty (another build): later than any other change.
  std::vector<uint64_t> changed_at = {};
  uint64_t summary_changed_at = 0;
  std::vector<OpenCall> open_calls = {};  // of a thread that stays paused
};

// The thread that is paused until its client brings the results of these calls.
struct WaitingThreadQuery {
  Scope scope;
  std::vector<std::string> call_ids;
};

struct WaitingThread {
  std::string thread_id;
};

struct StopRequest {
  Scope scope;
  std::string thread_id;
  bool cancel = false;      // do not wait for the node in progress either
  std::string run_id = {};  // only this run, in flight or queued; empty: all of the thread
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

// Removes messages, all or none, from a thread that is as the caller has read it: kBusy while a run
// is in flight or when the record has a newer time.
struct RemoveMessages {
  Scope scope;
  std::string thread_id;
  int64_t updated_micros = 0;
  std::vector<std::string> message_ids;
};

// --- traces ---------------------------------------------------------------------------------

struct ReadRuns {
  Scope scope;
  std::string thread_id;
  std::string run_id;  // the run whose entries are wanted; empty: the latest
  uint32_t runs_max = 20;
  uint32_t entries_max = 2000;
};

// The latest runs of a thread.
struct RunTraces {
  std::vector<std::string> run_ids;  // oldest first
  std::string run_id;                // of `entries`; empty: there is no such run
  std::vector<LogEntry> entries;     // oldest first; of a longer run run_started and the newest
  bool in_flight = false;            // the run still holds its lease
};

// --- remote tools ---------------------------------------------------------------------------

// A tool that clients run, added to a tool node while the service is up.
struct RemoteTool {
  std::string node;
  std::string name;
  std::string description;
  std::string parameters_json = "{}";
};

struct RemoteTools {
  uint64_t version = 0;    // grows with each change
  std::string generation;  // of the nginx they were registered with; they end with it
  std::vector<RemoteTool> tools;
};

// Replaces all remote tools of the nodes that `tools` names; those of another generation are
// forgotten.
struct SetRemoteTools {
  std::string generation;
  std::vector<RemoteTool> tools;
};

// A stored row that cannot be decoded.
inline Status DamagedState() {
  return {StatusCode::kDataLoss, "stored state cannot be read back"};
}

}  // namespace agent_graph::state

// Structs that the state service stores and returns. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace agent_graph::state {

// Which rows a call may access. The guard sets it for every call, never a handler, so that a
// handler cannot read rows of other users.
struct Scope {
  enum class Kind : uint8_t { kOwner, kAll };
  Kind kind = Kind::kAll;
  std::string user_id;  // for kOwner

  static Scope All() { return {}; }
  static Scope Owner(std::string user) { return {Kind::kOwner, std::move(user)}; }
};

// A stored message: the fields that the store needs, and its JSON, which the store reads only for
// the role and the tool calls (stored_json.h).
struct StoredMessage {
  std::string id;
  uint64_t sequence = 0;  // position in the thread; assigned by the store, never reused
  std::string json;       // compact JSON by message::ToJsonText
};

// Key in a thread's metadata: the handle with which a realtime provider resumes the conversation.
// It is removed when the state is cleared, so that the provider forgets the conversation too.
inline constexpr std::string_view kResumptionHandle = "resumption_handle";

// A thread without its state. Times are in microseconds since the Unix epoch.
struct ThreadRecord {
  std::string thread_id;
  std::string owner;        // user id; empty: no owner
  std::string creation_id;  // changes when an id is deleted and created again
  std::string name;
  std::string metadata_json = "{}";
  std::string last_run_id;
  int64_t created_micros = 0;
  int64_t updated_micros = 0;
};

// The part of a thread's state other than messages. Small; written completely when a run ends.
struct Snapshot {
  std::string fields_json = "{}";      // custom state fields
  std::optional<std::string> summary;  // context_summary
  // execution_meta as of the last durable step: node, step, interrupt, status, error; without the
  // running flags
  std::string execution_json = "{}";
  std::string graph_name;
  std::string graph_hash;
};

// The run in flight, as its lease row describes it.
struct RunInFlight {
  std::string run_id;
  std::string current_node;
  int64_t step = 0;
  bool stop_requested = false;
  std::vector<std::string> queued_runs = {};  // runs that wait for it, in queue order
};

// A thread's state as returned by GET …/state and loaded by a new run.
struct ThreadState {
  ThreadRecord record;
  Snapshot snapshot;
  std::vector<StoredMessage> window;     // working window, oldest first
  std::optional<RunInFlight> in_flight;  // set while the thread has a live lease
};

struct MessagePage {
  std::vector<StoredMessage> messages;  // ascending
  std::string next_cursor;              // empty: no more
};

// Returns the cursor of the page that starts at a message; `skip` matches are skipped first.
std::string CursorOfMessage(uint64_t sequence, uint64_t skip = 0);

struct ThreadPage {
  std::vector<ThreadRecord> threads;  // newest first
  std::string next_cursor;            // empty: no more
};

// Selects one page of a listing: rows that match `search`, after `offset` of them are skipped.
struct PageRequest {
  std::string search;  // empty: all rows
  uint64_t offset = 0;
  uint64_t limit = 100;
  std::string cursor;  // from the previous page; offset counts from there
};

// One entry of a thread's run log, which is append-only.
struct LogEntry {
  std::string kind;  // run_started, node_started, message, state_update, tool_intent, tool_started,
                     // tool_finished, interrupted, run_finished, ...
  std::string json;  // the entry's own fields
  int64_t micros = 0;
};

// --- operations ----------------------------------------------------------------------------

// Takes the thread's lease and loads what a run needs, in one round trip. Returns kConflict if a
// run with the same id is in flight or queued on the thread.
struct BeginRunRequest {
  Scope scope;
  std::string thread_id;
  std::string user_id;      // becomes the owner if the thread is created
  std::string creation_id;  // used if the thread is created
  std::string thread_name;  // used if the thread is created
  std::string run_id;
  std::string graph_name;
  std::string graph_hash;
  std::optional<uint64_t> window_max = 100;  // number of messages; nullopt: all, up to 10,000
  bool enqueue_if_busy = true;               // false: return kBusy at once
  int64_t wait_ms_max = 60'000;              // maximum wait in the queue of the thread; then kBusy
  uint32_t queue_max = 16;       // maximum number of runs waiting for the thread; above it: kBusy
  bool new_thread_only = false;  // kConflict if the thread exists, whoever owns it
  // Maximum duration of the run from now on, in milliseconds; 0: no limit. The worker ends the run
  // in time; if its process no longer responds, the lease expires then and the next run gets the
  // thread.
  int64_t run_ms_max = 0;
};

struct BeginRunReply {
  bool created = false;
  uint64_t lease_epoch = 0;
  ThreadState state;
  uint64_t remote_tools_version = 0;  // RemoteTools::version at the time of the grant
};

// An append fenced by the lease: refused with kFenced if the run no longer holds it.
struct AppendRunRequest {
  std::string thread_id;
  std::string run_id;
  uint64_t lease_epoch = 0;
  std::vector<LogEntry> entries;
  // new messages (sequence ignored), appended to history and window; an id that already exists is
  // left unchanged
  std::vector<StoredMessage> messages;
  std::string current_node;
  int64_t step = 0;
  bool durable = false;  // fsync before the reply (used before a tool call that is not idempotent)
  // Position of entries[0] among all entries of the run. It makes a repeated append idempotent:
  // entries that an unanswered append already wrote are not written again. Empty (another build, a
  // second writer): all entries are new.
  std::optional<uint64_t> first_entry = {};
  std::string metadata_json = {};  // merged into the thread's metadata; empty: no change
};

struct AppendRunReply {
  bool stop_requested = false;
};

// Messages that a run removes from the window; the history keeps them.
struct ForgottenMessages {
  uint64_t through = 0;          // loaded messages, up to this sequence number
  std::vector<std::string> ids;  // messages of the run itself
};

// A tool call of a paused thread that still has no result, and the messages that contain it.
struct OpenCall {
  std::string id;
  bool remote = false;  // the client executes it and sends the result
  std::vector<std::string> message_ids;
};

// The last append of a run: stores the snapshot and releases the lease. If the state was also
// changed by others during the run, the later change of each field wins, by its position in the
// log. Fields that the run has not changed are not written back.
struct FinishRunRequest {
  AppendRunRequest append;
  Snapshot snapshot;
  std::string status;               // done | error | stopped | interrupted
  std::string thread_name;          // name for a thread that has none yet; empty: no change
  std::optional<uint64_t> retired;  // unused place in the frame; workers of another build fill it
  std::vector<std::string> changed_fields;  // keys of snapshot.fields_json
  bool summary_changed = false;
  bool state_unread = false;  // the run could not read the state: keep the stored snapshot
  ForgottenMessages forgotten;
  // Positions, among all entries of the run, of the last change of each of changed_fields and of
  // the summary. Empty (another build): later than any other change.
  std::vector<uint64_t> changed_at = {};
  uint64_t summary_changed_at = 0;
  std::vector<OpenCall> open_calls = {};  // of a thread that stays paused
};

// Finds the thread that is paused until its client sends the results of these calls.
struct WaitingThreadQuery {
  Scope scope;
  std::vector<std::string> call_ids;
};

struct WaitingThread {
  std::string thread_id;
};

// Asks runs of a thread to stop.
struct StopRequest {
  Scope scope;
  std::string thread_id;
  bool cancel = false;  // also cancel the node in progress
  // stop only this run, in flight or queued; empty: every run of the thread
  std::string run_id = {};
};

struct StopReply {
  bool running = false;
  std::string run_id;
};

// PUT …/state. Objects are merged recursively, scalars and lists are replaced, null clears,
// messages in `context` are merged by id. Creates the thread if it does not exist.
struct PutStateRequest {
  Scope scope;
  std::string thread_id;
  std::string user_id;
  std::string creation_id;
  std::string fields_json = "{}";
  bool summary_present = false;
  std::optional<std::string> summary;  // used with summary_present; nullopt clears it
  std::vector<StoredMessage> messages;
  bool context_cleared = false;  // `context: null`
};

// Appends messages outside of a run. The thread is created if it does not exist; user_id and
// creation_id are used then.
struct AppendMessagesRequest {
  Scope scope;
  std::string thread_id;
  std::string user_id;
  std::string creation_id;
  std::vector<StoredMessage> messages;
  std::string metadata_json = "{}";  // merged into the thread's metadata
};

// Removes messages, all or none. Returns kBusy while a run is in flight or if the record has
// changed since the caller read it (updated_micros is newer).
struct RemoveMessagesRequest {
  Scope scope;
  std::string thread_id;
  int64_t updated_micros = 0;
  std::vector<std::string> message_ids;
};

// --- traces ---------------------------------------------------------------------------------

// Reads the latest runs of a thread, at most `runs_max` ids and `entries_max` entries.
struct ReadRunsRequest {
  Scope scope;
  std::string thread_id;
  std::string run_id;  // the run whose entries to return; empty: the latest
  uint32_t runs_max = 20;
  uint32_t entries_max = 2000;
};

// The latest runs of a thread.
struct RunTraces {
  std::vector<std::string> run_ids;  // oldest first
  std::string run_id;                // the run of `entries`; empty: no such run
  std::vector<LogEntry> entries;  // oldest first; for long runs, run_started and the newest entries
  bool in_flight = false;         // the run still holds its lease
};

// --- remote tools ---------------------------------------------------------------------------

// A tool that clients execute, added to a tool node while the service is running.
struct RemoteTool {
  std::string node;
  std::string name;
  std::string description;
  std::string parameters_json = "{}";
};

struct RemoteTools {
  uint64_t version = 0;  // incremented by each change
  // nginx generation that registered them; they become invalid when it ends
  std::string generation;
  std::vector<RemoteTool> tools;
};

// Replaces all remote tools of the nodes that `tools` names and deletes those of other generations.
struct ReplaceRemoteToolsRequest {
  std::string generation;
  std::vector<RemoteTool> tools;
};

// The error for a stored row that cannot be decoded.
inline Status DamagedState() {
  return {StatusCode::kDataLoss, "stored state cannot be read back"};
}

}  // namespace agent_graph::state

// Arguments and results of the operations of state::Service. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "state/pack/fields.h"
#include "state/types.h"

namespace agent_graph::state {

// A working window that a client has kept, up to a message. The id is that of the message, so that
// a window of another database is not taken for it.
struct KnownWindow {
  uint64_t thread_number = 0;
  uint64_t version = 0;  // BeginRunReply::window_version
  uint64_t through = 0;  // sequence number of its newest message
  // Empty if the state server names a window that it has sent itself.
  std::string message_id = {};
};
template <pack::SameAs<KnownWindow> T>
auto Fields(T& s) {
  return std::tie(s.thread_number, s.version, s.through, s.message_id);
}

// Takes the thread's lease and loads what a run needs, in one round trip. Returns kConflict if a
// run with the same id is in flight or queued on the thread.
struct BeginRunRequest {
  Scope scope;
  std::string thread_id;
  std::string user_id;      // becomes the owner if the thread is created
  std::string creation_id;  // that of a thread that is created; another one for each request
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
  // If the reply would have more bytes, it omits the state: the worker first waits for memory, then
  // calls GetState. nullopt: never.
  std::optional<uint64_t> reply_bytes_max = {};
  // The run was granted to this client. kFenced unless the client still holds the lease: the run
  // may have ended meanwhile, or its thread may have been deleted.
  bool granted = false;
  // On a busy thread: stop the run in flight, and go before all runs that wait. Needs
  // enqueue_if_busy.
  bool interrupt_if_busy = false;
  // Epoch of the grant: kFenced if the run was granted again since then. 0: any is accepted.
  uint64_t granted_epoch = 0;
  // Messages that the reply may leave out; see BeginRunReply::window_is_partial.
  std::optional<KnownWindow> known_window = {};
};
template <pack::SameAs<BeginRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.user_id, s.creation_id, s.thread_name, s.run_id,
                  s.graph_name, s.graph_hash, s.window_max, s.enqueue_if_busy, s.wait_ms_max,
                  s.queue_max, s.new_thread_only, s.run_ms_max, s.reply_bytes_max, s.granted,
                  s.interrupt_if_busy, s.granted_epoch, s.known_window);
}

struct BeginRunReply {
  bool created = false;
  uint64_t lease_epoch = 0;
  ThreadState state;                  // as the latest run has left it, without `in_flight`
  uint64_t remote_tools_version = 0;  // RemoteTools::version at the time of the grant
  uint64_t omitted_bytes = 0;         // weight of the state that was omitted; 0: it is there
  uint64_t thread_number = 0;         // 0: a server of an older build
  uint64_t log_index = 0;             // index that the run's next entry will have in the log
  // Changes when a stored message gets other content. 0: not known, a server of an older build.
  uint64_t window_version = 0;
  // The window has only the messages behind `known_through`; `window_sequences` has the sequence
  // numbers of all messages that belong to it, in their order.
  bool window_is_partial = false;
  std::vector<uint64_t> window_sequences = {};
  // known_window.through, or a larger number: if other runs of the client have begun while this one
  // waited, the client knows what they have loaded. 0: a server of an older build.
  uint64_t known_through = 0;
};
template <pack::SameAs<BeginRunReply> T>
auto Fields(T& s) {
  return std::tie(s.created, s.lease_epoch, s.state, s.remote_tools_version, s.omitted_bytes,
                  s.thread_number, s.log_index, s.window_version, s.window_is_partial,
                  s.window_sequences, s.known_through);
}

// Reads a thread's state unless it is large.
struct GetStateUpToRequest {
  Scope scope;
  std::string thread_id;
  uint64_t bytes_max = 0;  // limit of the reply; a larger one omits the state
};
template <pack::SameAs<GetStateUpToRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.bytes_max);
}

struct GetStateUpToReply {
  ThreadState state;
  uint64_t omitted_bytes = 0;  // size of the state that was omitted; 0: it is there
};
template <pack::SameAs<GetStateUpToReply> T>
auto Fields(T& s) {
  return std::tie(s.state, s.omitted_bytes);
}

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
  // The current node executes user code: a crash of the process may be its fault.
  bool in_user_code = false;
};
template <pack::SameAs<AppendRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id, s.lease_epoch, s.entries, s.messages, s.current_node,
                  s.step, s.durable, s.first_entry, s.metadata_json, s.in_user_code);
}

struct AppendRunReply {
  bool stop_requested = false;
};
template <pack::SameAs<AppendRunReply> T>
auto Fields(T& s) {
  return std::tie(s.stop_requested);
}

// Messages that a run removes from the window; the history keeps them.
struct ForgottenMessages {
  uint64_t through = 0;          // loaded messages, up to this sequence number
  std::vector<std::string> ids;  // messages of the run itself
};
template <pack::SameAs<ForgottenMessages> T>
auto Fields(T& s) {
  return std::tie(s.through, s.ids);
}

// A tool call of a paused thread that still has no result, and the messages that contain it.
struct OpenCall {
  std::string id;
  bool remote = false;  // the client executes it and sends the result
  std::vector<std::string> message_ids;
};
template <pack::SameAs<OpenCall> T>
auto Fields(T& s) {
  return std::tie(s.id, s.remote, s.message_ids);
}

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
  std::vector<OpenCall> open_calls = {};  // calls that a paused thread waits for
  std::string reason = {};                // why the run ended so, for its record; empty: none
  std::string usage_json = "{}";          // usage of the run, for its record
  bool window_is_kept = false;            // the worker's next run of the thread can use its window
};
template <pack::SameAs<FinishRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.append, s.snapshot, s.status, s.thread_name, s.retired, s.changed_fields,
                  s.summary_changed, s.state_unread, s.forgotten, s.changed_at,
                  s.summary_changed_at, s.open_calls, s.reason, s.usage_json, s.window_is_kept);
}

// Finds the thread that is paused until its client sends the results of these calls.
struct WaitingThreadQuery {
  Scope scope;
  std::vector<std::string> call_ids;
};
template <pack::SameAs<WaitingThreadQuery> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.call_ids);
}

struct WaitingThread {
  std::string thread_id;
};
template <pack::SameAs<WaitingThread> T>
auto Fields(T& s) {
  return std::tie(s.thread_id);
}

// Asks runs of a thread to stop.
struct StopRequest {
  Scope scope;
  std::string thread_id;
  bool cancel = false;  // also cancel the node in progress
  // stop only this run, in flight or queued; empty: every run of the thread
  std::string run_id = {};
};
template <pack::SameAs<StopRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.cancel, s.run_id);
}

struct StopReply {
  bool running = false;
  std::string run_id;
};
template <pack::SameAs<StopReply> T>
auto Fields(T& s) {
  return std::tie(s.running, s.run_id);
}

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
template <pack::SameAs<PutStateRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.user_id, s.creation_id, s.fields_json, s.summary_present,
                  s.summary, s.messages, s.context_cleared);
}

// Appends messages outside of a run. The thread is created if it does not exist, unless it must;
// user_id and creation_id are used then.
struct AppendMessagesRequest {
  Scope scope;
  std::string thread_id;
  std::string user_id;
  std::string creation_id;
  std::vector<StoredMessage> messages;
  std::string metadata_json = "{}";  // merged into the thread's metadata
  bool must_exist = false;           // kNotFound instead of creating a thread
};
template <pack::SameAs<AppendMessagesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.user_id, s.creation_id, s.messages, s.metadata_json,
                  s.must_exist);
}

// Removes messages, all or none. Returns kBusy while a run is in flight, or if the thread has
// changed since the caller read its record: ThreadRecord::updated_micros is another one.
struct RemoveMessagesRequest {
  Scope scope;
  std::string thread_id;
  int64_t updated_micros = 0;
  std::vector<std::string> message_ids;
};
template <pack::SameAs<RemoveMessagesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.updated_micros, s.message_ids);
}

// --- traces ---------------------------------------------------------------------------------

// Reads the latest runs of a thread, at most `runs_max` ids and `entries_max` entries.
struct ReadRunsRequest {
  Scope scope;
  std::string thread_id;
  std::string run_id;  // the run whose entries to return; empty: the latest
  uint32_t runs_max = 20;
  uint32_t entries_max = 2000;
};
template <pack::SameAs<ReadRunsRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.run_id, s.runs_max, s.entries_max);
}

// The latest runs of a thread.
struct RunTraces {
  std::vector<std::string> run_ids;  // oldest first
  std::string run_id;                // the run of `entries`; empty: no such run
  std::vector<LogEntry> entries;  // oldest first; for long runs, run_started and the newest entries
  bool in_flight = false;         // the run still holds its lease
};
template <pack::SameAs<RunTraces> T>
auto Fields(T& s) {
  return std::tie(s.run_ids, s.run_id, s.entries, s.in_flight);
}

// Replaces all remote tools of the nodes that `tools` names and deletes those of other generations.
struct ReplaceRemoteToolsRequest {
  std::string generation;
  std::vector<RemoteTool> tools;
};
template <pack::SameAs<ReplaceRemoteToolsRequest> T>
auto Fields(T& s) {
  return std::tie(s.generation, s.tools);
}

}  // namespace agent_graph::state

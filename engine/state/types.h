// Structs that the state service stores and returns. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "state/pack/fields.h"

namespace agent_graph::state {

// The rows that a call may access. The guard sets it for every call, never a handler, so that a
// handler cannot read rows of other users.
struct Scope {
  enum class Kind : uint8_t { kOwner, kAll };
  Kind kind = Kind::kAll;
  std::string user_id;  // for kOwner

  static Scope All() { return {}; }
  static Scope Owner(std::string user) { return {Kind::kOwner, std::move(user)}; }
};
template <pack::SameAs<Scope> T>
auto Fields(T& s) {
  return std::tie(s.kind, s.user_id);
}

// A stored message: the fields that the store needs, and its JSON, which the store reads only for
// the role and the tool calls (stored_json.h).
struct StoredMessage {
  std::string id;
  uint64_t sequence = 0;  // position in the thread; assigned by the store, never reused
  std::string json;       // compact JSON by message::ToJsonText
};
template <pack::SameAs<StoredMessage> T>
auto Fields(T& s) {
  return std::tie(s.id, s.sequence, s.json);
}

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
template <pack::SameAs<ThreadRecord> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.owner, s.creation_id, s.name, s.metadata_json, s.last_run_id,
                  s.created_micros, s.updated_micros);
}

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
template <pack::SameAs<Snapshot> T>
auto Fields(T& s) {
  return std::tie(s.fields_json, s.summary, s.execution_json, s.graph_name, s.graph_hash);
}

// The run in flight, as its lease row describes it.
struct RunInFlight {
  std::string run_id;
  std::string current_node;
  int64_t step = 0;
  bool stop_requested = false;
  std::vector<std::string> queued_runs = {};  // runs that wait for it, in queue order
};
template <pack::SameAs<RunInFlight> T>
auto Fields(T& s) {
  return std::tie(s.run_id, s.current_node, s.step, s.stop_requested, s.queued_runs);
}

// A thread's state as returned by GET …/state and loaded by a new run.
struct ThreadState {
  ThreadRecord record;
  Snapshot snapshot;
  std::vector<StoredMessage> window;     // working window, oldest first
  std::optional<RunInFlight> in_flight;  // set while the thread has a live lease
};
template <pack::SameAs<ThreadState> T>
auto Fields(T& s) {
  return std::tie(s.record, s.snapshot, s.window, s.in_flight);
}

struct MessagePage {
  std::vector<StoredMessage> messages;  // ascending
  std::string next_cursor;              // empty: no more
};
template <pack::SameAs<MessagePage> T>
auto Fields(T& s) {
  return std::tie(s.messages, s.next_cursor);
}

// Returns the cursor of the page that starts at a message; `skip` matches are skipped first.
std::string CursorOfMessage(uint64_t sequence, uint64_t skip = 0);

struct ThreadPage {
  std::vector<ThreadRecord> threads;  // newest first
  std::string next_cursor;            // empty: no more
};
template <pack::SameAs<ThreadPage> T>
auto Fields(T& s) {
  return std::tie(s.threads, s.next_cursor);
}

// A value of a thread's metadata, as text; see rules/metadata.h.
struct MetadataValue {
  std::string name;
  std::string text;
  friend bool operator==(const MetadataValue&, const MetadataValue&) = default;
};
template <pack::SameAs<MetadataValue> T>
auto Fields(T& s) {
  return std::tie(s.name, s.text);
}

// Selects one page of a listing: rows that match `search`, after `offset` of them are skipped.
struct PageRequest {
  std::string search;  // empty: all rows
  uint64_t offset = 0;
  uint64_t limit = 100;
  std::string cursor;  // from the previous page; offset counts from there
  // Selects threads that have all these values. The names must be among
  // StateOptions::indexed_metadata.
  std::vector<MetadataValue> metadata = {};
};
template <pack::SameAs<PageRequest> T>
auto Fields(T& s) {
  return std::tie(s.search, s.offset, s.limit, s.cursor, s.metadata);
}

// A change of one custom field by a run, as it is after the reducers: it can be repeated without
// the graph. Repeating it needs the field's value before, unless the kind is kReplace.
struct FieldEffect {
  enum class Kind : uint8_t {
    kReplace,  // `value_json` is the new value
    kAppend,   // a list got further elements: those of `value_json`, or itself if it is no list
    kMerge,    // `value_json`, an object, was merged into the value (JSON merge patch)
  };
  std::string name;
  Kind kind = Kind::kReplace;
  std::string value_json;
  uint64_t length = 0;    // kAppend: length of the list before
  uint64_t position = 0;  // position among all entries of the run
};
template <pack::SameAs<FieldEffect> T>
auto Fields(T& s) {
  return std::tie(s.name, s.kind, s.value_json, s.length, s.position);
}

// The change that one entry of a run's log makes to the thread's state.
struct StateEffect {
  std::vector<FieldEffect> fields = {};  // in the order in which they were made
  bool summary_changed = false;
  std::optional<std::string> summary = {};  // used with summary_changed; nullopt clears it
  uint64_t summary_position = 0;
  // Contains everything that the run has changed so far: earlier entries are not needed.
  bool complete = false;
};
template <pack::SameAs<StateEffect> T>
auto Fields(T& s) {
  return std::tie(s.fields, s.summary_changed, s.summary, s.summary_position, s.complete);
}

// One entry of a thread's run log, which is append-only.
struct LogEntry {
  std::string kind;  // run_started, node_started, message, state_update, tool_intent, tool_started,
                     // tool_finished, interrupted, run_finished, ...
  std::string json;  // the entry's own fields
  int64_t micros = 0;
  std::optional<StateEffect> effect = {};
};
template <pack::SameAs<LogEntry> T>
auto Fields(T& s) {
  return std::tie(s.kind, s.json, s.micros, s.effect);
}

// A tool that clients execute, added to a tool node while the service is running.
struct RemoteTool {
  std::string node;
  std::string name;
  std::string description;
  std::string parameters_json = "{}";
};
template <pack::SameAs<RemoteTool> T>
auto Fields(T& s) {
  return std::tie(s.node, s.name, s.description, s.parameters_json);
}

struct RemoteTools {
  uint64_t version = 0;  // incremented by each change
  // nginx generation that registered them; they become invalid when it ends
  std::string generation;
  std::vector<RemoteTool> tools;
};
template <pack::SameAs<RemoteTools> T>
auto Fields(T& s) {
  return std::tie(s.version, s.generation, s.tools);
}

// The error for a stored row that cannot be decoded.
inline Status DamagedState() {
  return {StatusCode::kDataLoss, "stored state cannot be read back"};
}

}  // namespace agent_graph::state

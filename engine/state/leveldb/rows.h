// What the values of the tables hold. See keys.h for the tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "state/leveldb/keys.h"
#include "state/pack/fields.h"
#include "state/types.h"
#include "state/wire/fields.h"

namespace agent_graph::state {

struct ThreadRow {
  uint64_t number = 0;
  std::string owner;
  std::string creation_id;
  std::string name;
  std::string metadata_json = "{}";
  std::string last_run_id;
  int64_t created_micros = 0;
  int64_t updated_micros = 0;
  uint64_t lease_epoch = 0;  // of the latest lease that has ended

  keys::ThreadKey key() const { return {owner, number}; }
  ThreadRecord Record(const std::string& thread_id) const;
};

// Written by every append, so kept apart from the larger record.
struct CountersRow {
  uint64_t next_sequence = 1;
  uint64_t next_log_index = 0;
  uint64_t messages = 0;  // stored ones; equal to next_sequence - 1 until one is deleted
  // Where in the log every kRunsPerMark-th run began, oldest first, and the runs since the newest.
  std::vector<uint64_t> log_marks;
  uint64_t runs_since_mark = 0;
  bool log_is_cut = false;
};

// The log keeps this many of a thread's latest runs, and up to half as many more; older entries are
// cut off at a mark.
inline constexpr uint64_t kRunsKept = 32;
inline constexpr uint64_t kRunsPerMark = kRunsKept / 2;

// Entries from `from` up to, without, `to` are to be deleted.
struct LogCutRow {
  uint64_t from = 0;
  uint64_t to = 0;
};

struct MessageRow {
  std::string id;
  std::string json;
};

// The working window: never message bodies. Each item is sequence << 1 | from_user.
struct WindowRow {
  std::vector<uint64_t> items;

  static uint64_t Item(uint64_t sequence, bool from_user) { return sequence << 1 | from_user; }
  static uint64_t Sequence(uint64_t item) { return item >> 1; }
  static bool FromUser(uint64_t item) { return (item & 1) != 0; }
};

// A run in flight. Everything a new owner needs to go on enforcing it.
struct LeaseRow {
  std::string thread_id;
  std::string client;
  int64_t process = 0;
  uint64_t process_start = 0;
  std::string run_id;
  uint64_t epoch = 0;
  bool created_thread = false;
  bool stop_requested = false;
  std::string current_node;
  int64_t step = 0;
  uint64_t last_append = 0;  // its client's sequence number: up to here nothing is done again
  bool cancel_requested = false;
  bool state_changed = false;  // by somebody else, since the run has loaded it
  std::vector<std::string> queued_runs;
  uint64_t entries_logged = 0;  // of the run's entries, counted by its client
  // Microseconds of the machine's monotonic clock, which all processes share until it is booted
  // again: by then the process is gone, too. 0: none.
  int64_t deadline_micros = 0;
};

// The tool calls a paused thread waits for. No row: it waits for none.
struct PauseRow {
  std::vector<OpenCall> calls;
};

// A change of a field by others, after `behind` entries of the run in flight.
struct OutsideFieldChange {
  std::string name;
  uint64_t behind = 0;
};

// Changes by others during a run, which the run's end must not undo. Valid only for the lease of
// this epoch.
struct OutsideChangeRow {
  uint64_t lease_epoch = 0;
  std::vector<OutsideFieldChange> fields;
  std::optional<uint64_t> summary_behind;
  std::optional<uint64_t> all_behind;  // the state was cleared: every field and the summary
  // The context was cleared. What the run still adds belongs to the one that is gone, until it adds
  // a message of the user (a live session does, at its next turn): a new one begins with that.
  bool context_cleared = false;
  bool context_restarted = false;
  std::vector<std::string> open_calls;  // of the messages in the new context, without a result yet
};

// The entries of one append, under the index of the last of them.
struct LogRow {
  std::vector<LogEntry> entries;
};

template <pack::SameAs<ThreadRow> T>
auto Fields(T& row) {
  return std::tie(row.number, row.owner, row.creation_id, row.name, row.metadata_json,
                  row.last_run_id, row.created_micros, row.updated_micros, row.lease_epoch);
}
template <pack::SameAs<CountersRow> T>
auto Fields(T& row) {
  return std::tie(row.next_sequence, row.next_log_index, row.messages, row.log_marks,
                  row.runs_since_mark, row.log_is_cut);
}
template <pack::SameAs<LogCutRow> T>
auto Fields(T& row) {
  return std::tie(row.from, row.to);
}
template <pack::SameAs<MessageRow> T>
auto Fields(T& row) {
  return std::tie(row.id, row.json);
}
template <pack::SameAs<WindowRow> T>
auto Fields(T& row) {
  return std::tie(row.items);
}
template <pack::SameAs<LeaseRow> T>
auto Fields(T& row) {
  return std::tie(row.thread_id, row.client, row.process, row.process_start, row.run_id, row.epoch,
                  row.created_thread, row.stop_requested, row.current_node, row.step,
                  row.last_append, row.cancel_requested, row.state_changed, row.queued_runs,
                  row.entries_logged, row.deadline_micros);
}
template <pack::SameAs<PauseRow> T>
auto Fields(T& row) {
  return std::tie(row.calls);
}
template <pack::SameAs<OutsideFieldChange> T>
auto Fields(T& row) {
  return std::tie(row.name, row.behind);
}
template <pack::SameAs<OutsideChangeRow> T>
auto Fields(T& row) {
  return std::tie(row.lease_epoch, row.fields, row.summary_behind, row.all_behind,
                  row.context_cleared, row.context_restarted, row.open_calls);
}
template <pack::SameAs<LogRow> T>
auto Fields(T& row) {
  return std::tie(row.entries);
}

// The kind of a run's first log entry.
inline constexpr char kRunStarted[] = "run_started";

// Name of the Meta row that holds RemoteTools.
inline constexpr char kRemoteToolsName[] = "remote_tools";

std::vector<std::string> IdsOf(const std::vector<OpenCall>& calls);
// Ids of the calls that lead back to their thread: those that its client was handed, each once.
std::vector<std::string> WaitingCallIds(const std::vector<OpenCall>& calls);

// True when rows of `owner` are within the scope. Nobody is the owner of an ownerless row.
bool InScope(const Scope& scope, const std::string& owner);

// Drops the oldest items so that the window starts at a user message: at the first one of the last
// `items_max`, else at the last one before them, so that a single long turn stays whole. Without
// any user message, or past kWindowItemsMax, the count alone decides.
void TrimWindow(WindowRow& window, uint64_t items_max);

// A window never grows beyond this, whatever is configured.
inline constexpr uint64_t kWindowItemsMax = 10'000;

}  // namespace agent_graph::state

// The values of the tables in keys.h.
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

// Every append writes this row, so it is separate from the larger record.
struct CountersRow {
  uint64_t next_sequence = 1;
  uint64_t next_log_index = 0;
  uint64_t messages = 0;  // number of stored messages; next_sequence - 1 until one is deleted
  // Log indexes where every kRunsPerMark-th run began, oldest first, and the number of runs since
  // the newest mark.
  std::vector<uint64_t> log_marks;
  uint64_t runs_since_mark = 0;
  bool log_is_cut = false;
};

// The log keeps this many of a thread's latest runs, and up to half as many more; older entries are
// cut off at a mark.
inline constexpr uint64_t kRunsKept = 32;
inline constexpr uint64_t kRunsPerMark = kRunsKept / 2;

// The log entries in [from, to) are to be deleted.
struct LogCutRow {
  uint64_t from = 0;
  uint64_t to = 0;
};

struct MessageRow {
  std::string id;
  std::string json;
};

// The working window, without message bodies. Each item is sequence << 1 | from_user.
struct WindowRow {
  std::vector<uint64_t> items;

  static uint64_t Item(uint64_t sequence, bool from_user) { return sequence << 1 | from_user; }
  static uint64_t Sequence(uint64_t item) { return item >> 1; }
  static bool FromUser(uint64_t item) { return (item & 1) != 0; }
};

// A run in flight: everything that a new state server needs to continue enforcing the lease.
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
  // the client's sequence number of the last append; earlier ones are not executed again
  uint64_t last_append = 0;
  bool cancel_requested = false;
  bool state_changed = false;  // by others, after the run has loaded the state
  std::vector<std::string> queued_runs;
  uint64_t entries_logged = 0;  // number of the run's entries in the log, as counted by its client
  // Deadline in microseconds of the machine's monotonic clock, which all processes share. A reboot
  // restarts the clock, but ends the process too. 0: none.
  int64_t deadline_micros = 0;
};

// The tool calls that a paused thread waits for. No row: none.
struct PauseRow {
  std::vector<OpenCall> calls;
};

// A change of a field by others, after the first `behind` entries of the run in flight.
struct OutsideFieldChange {
  std::string name;
  uint64_t behind = 0;
};

// Changes by others during a run, which the end of the run must not undo. Valid only for the lease
// with this epoch.
struct OutsideChangeRow {
  uint64_t lease_epoch = 0;
  std::vector<OutsideFieldChange> fields;
  std::optional<uint64_t> summary_behind;
  std::optional<uint64_t> all_behind;  // the state was cleared: every field and the summary
  // The context was cleared. Messages that the run adds belong to the old context, until it adds a
  // user message (a live session does so at its next turn), which starts a new context.
  bool context_cleared = false;
  bool context_restarted = false;
  // calls in the new context's messages that have no result yet
  std::vector<std::string> open_calls;
};

// The entries of one append, keyed by the index of the last of them.
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

// Kind of the first log entry of a run.
inline constexpr char kRunStarted[] = "run_started";

// Name of the Meta row that holds RemoteTools.
inline constexpr char kRemoteToolsName[] = "remote_tools";

std::vector<std::string> IdsOf(const std::vector<OpenCall>& calls);
// Returns the ids of the calls that can be looked up, each once: those that were handed to the
// client.
std::vector<std::string> WaitingCallIds(const std::vector<OpenCall>& calls);

// True if rows of `owner` are within the scope. A row without an owner belongs to no user.
bool InScope(const Scope& scope, const std::string& owner);

// Drops the oldest items so that the window starts at a user message: at the first one among the
// last `items_max` items, else at the last one before them, so that a single long turn stays
// complete. Without any user message, or above kWindowItemsMax, only the count decides.
void TrimWindow(WindowRow& window, uint64_t items_max);

// Upper limit of a window, whatever is configured.
inline constexpr uint64_t kWindowItemsMax = 10'000;

}  // namespace agent_graph::state

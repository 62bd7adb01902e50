// The values of the tables in keys.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "state/pack/fields.h"
#include "state/requests.h"
#include "state/rows/keys.h"
#include "state/rules/fold.h"
#include "state/rules/outside_change.h"
#include "state/runs.h"
#include "state/types.h"

namespace agent_graph::state {

// A run that was asked to stop while it waited for the thread at another host.
struct StoppedRun {
  std::string run_id;
  int64_t micros = 0;  // when it was asked to stop
};
template <pack::SameAs<StoppedRun> T>
auto Fields(T& row) {
  return std::tie(row.run_id, row.micros);
}

struct ThreadRow {
  uint64_t number = 0;
  std::string owner;
  std::string creation_id;
  std::string name;
  std::string metadata_json = "{}";
  std::string last_run_id;
  int64_t created_micros = 0;
  int64_t updated_micros = 0;
  // Epoch of the latest lease that has ended. Before the first lease it differs from the epochs of
  // deleted threads with the same id.
  uint64_t lease_epoch = 0;
  // The latest ones. An older build that rewrites the row loses them.
  std::vector<StoppedRun> stopped_runs;

  keys::ThreadKey key() const { return {owner, number}; }
  ThreadRecord Record(const std::string& thread_id) const;
};
template <pack::SameAs<ThreadRow> T>
auto Fields(T& row) {
  return std::tie(row.number, row.owner, row.creation_id, row.name, row.metadata_json,
                  row.last_run_id, row.created_micros, row.updated_micros, row.lease_epoch,
                  row.stopped_runs);
}

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
  uint64_t replacements = 0;  // times that a stored message got other content
  // As of the last time when all kept runs were read, see ThreadEditor::CuttableMarks. An older
  // build that rewrites the row loses both.
  uint64_t log_bytes_since = 0;     // size of the entries that were appended after that
  int64_t oldest_ended_micros = 0;  // latest end of the runs before the second mark; 0: not known

  // See BeginRunReply: never 0.
  uint64_t window_version() const { return replacements + 1; }
};
template <pack::SameAs<CountersRow> T>
auto Fields(T& row) {
  return std::tie(row.next_sequence, row.next_log_index, row.messages, row.log_marks,
                  row.runs_since_mark, row.log_is_cut, row.replacements, row.log_bytes_since,
                  row.oldest_ended_micros);
}

// The log keeps at least this many of a thread's latest runs, and up to half as many more; older
// entries are cut off at a mark, unless StateOptions::log_kept keeps them.
inline constexpr uint64_t kRunsKept = 32;
inline constexpr uint64_t kRunsPerMark = kRunsKept / 2;
// Maximum number of runs of a thread whose logs and records are kept. When there are more, the
// oldest 1 / kTrimShare of them are deleted.
inline constexpr uint64_t kRunsKeptMax = 1000;
inline constexpr uint64_t kTrimShare = 4;
inline constexpr uint64_t kLogMarksMax = 1 + kRunsKeptMax / kRunsPerMark;

// The log entries in [from, to) are to be deleted.
struct LogCutRow {
  uint64_t from = 0;
  uint64_t to = 0;
};
template <pack::SameAs<LogCutRow> T>
auto Fields(T& row) {
  return std::tie(row.from, row.to);
}

struct MessageRow {
  std::string id;
  std::string json;
};
template <pack::SameAs<MessageRow> T>
auto Fields(T& row) {
  return std::tie(row.id, row.json);
}

// The working window, without message bodies. Each item is sequence << 1 | from_user.
struct WindowRow {
  std::vector<uint64_t> items;

  static uint64_t Item(uint64_t sequence, bool from_user) { return sequence << 1 | from_user; }
  static uint64_t Sequence(uint64_t item) { return item >> 1; }
  static bool FromUser(uint64_t item) { return (item & 1) != 0; }
};
template <pack::SameAs<WindowRow> T>
auto Fields(T& row) {
  return std::tie(row.items);
}

// A run that waits for a thread at one of the hosts that share the database.
struct QueuedRun {
  // In place of an instance: the run was asked to stop, and its host has not refused it yet.
  static constexpr char kStopped[] = "00000000000000000000000000000000";

  std::string run_id;
  std::string instance;      // instance of the host
  int64_t asked_micros = 0;  // when its client asked for it; 0: not known

  bool is_stopped() const { return instance == kStopped; }
};
template <pack::SameAs<QueuedRun> T>
auto Fields(T& row) {
  return std::tie(row.run_id, row.instance, row.asked_micros);
}

// The hosts that share the database, as a thread knows them; empty if there is only one. And when
// the runs in flight and in the queue began to wait.
struct LeaseHosts {
  std::string instance;  // instance whose state server holds the lease, see Database::instance
  // The order in which the waiting runs of all hosts get the thread. LeaseRow::queued_runs has
  // their ids.
  std::vector<QueuedRun> queue;
  // When the client asked for the run in flight. 0: it did not wait, or is accepted: its record has
  // the time. An older build that rewrites the row loses it.
  int64_t asked_micros = 0;
  // When the clients asked for LeaseRow::queued_runs, in the same order.
  std::vector<int64_t> queued_micros;
};
template <pack::SameAs<LeaseHosts> T>
auto Fields(T& row) {
  return std::tie(row.instance, row.queue, row.asked_micros, row.queued_micros);
}

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
  // An older build that rewrites the row loses the members below.
  int64_t started_micros = 0;
  uint64_t log_begin = 0;     // index that the first entry of the run has in the thread's log
  bool in_user_code = false;  // see AppendRunRequest
  LeaseHosts hosts = {};

  int64_t created_micros() const {
    return hosts.asked_micros != 0 ? hosts.asked_micros : started_micros;
  }
  // Of a waiting run. That of the run in flight if an older build has written the row.
  int64_t created_micros(size_t queued_run) const {
    const bool is_known =
        hosts.queued_micros.size() == queued_runs.size() && hosts.queued_micros[queued_run] != 0;
    return is_known ? hosts.queued_micros[queued_run] : created_micros();
  }
};
template <pack::SameAs<LeaseRow> T>
auto Fields(T& row) {
  return std::tie(row.thread_id, row.client, row.process, row.process_start, row.run_id, row.epoch,
                  row.created_thread, row.stop_requested, row.current_node, row.step,
                  row.last_append, row.cancel_requested, row.state_changed, row.queued_runs,
                  row.entries_logged, row.deadline_micros, row.started_micros, row.log_begin,
                  row.in_user_code, row.hosts);
}

// The record of a run. Runs of clients get one at their end, accepted runs when they are accepted.
struct RunRow {
  RunRecord record;
  uint64_t log_end = 0;  // index after the run's last entry; 0: the run has not ended
  // For accepted runs.
  bool has_appended = false;   // an attempt has appended: the next one continues it
  uint32_t crashes_alone = 0;  // crashes of a suspect, see kCrashesAloneMax
  bool suspect = false;        // a worker crashed while it executed user code of this run
  // Size of its entries, for the bound of the log; too small if a state server died meanwhile. An
  // older build writes none.
  uint64_t log_bytes = 0;
  // An older build writes none of these.
  uint32_t attempts_in_place = 0;  // see kAttemptsInPlaceMax
  uint32_t crashes_beside = 0;     // see kCrashesBesideMax
  // Epoch of the attempt whose FinishRun has ended the run; 0: another reason has.
  uint64_t finished_epoch = 0;
};
template <pack::SameAs<RunRow> T>
auto Fields(T& row) {
  return std::tie(row.record, row.log_end, row.has_appended, row.crashes_alone, row.suspect,
                  row.log_bytes, row.attempts_in_place, row.crashes_beside, row.finished_epoch);
}

// An accepted run that has not ended.
struct RunRequestRow {
  AcceptRunRequest accept;
  uint64_t order = 0;         // runs of a thread are granted in this order
  std::string instance = {};  // the host at which it waits or executes; see LeaseRow
};
template <pack::SameAs<RunRequestRow> T>
auto Fields(T& row) {
  return std::tie(row.accept, row.order, row.instance);
}

// Row of a key: the run that it began, or the value that was claimed with it.
struct RunKeyRow {
  std::string body_hash;
  std::string thread_id;  // empty: a value
  std::string owner;
  uint64_t thread_number = 0;
  std::string run_id;
  int64_t expires_micros = 0;
  std::string value = {};

  KeyRecord Record() const { return {body_hash, value, thread_id, run_id, thread_number}; }
};
template <pack::SameAs<RunKeyRow> T>
auto Fields(T& row) {
  return std::tie(row.body_hash, row.thread_id, row.owner, row.thread_number, row.run_id,
                  row.expires_micros, row.value);
}

// Name of the Meta row with RunTotals, without the longest wait. Each host has its own row: the
// name of its instance is appended.
inline constexpr char kRunTotalsName[] = "run_totals";

// Name of the Meta row with the next RunRequestRow::order.
inline constexpr char kNextRunOrderName[] = "next_run_order";

// The rows of a thread in the index of metadata. No row: none.
struct IndexedThreadRow {
  int64_t updated_micros = 0;
  std::vector<MetadataValue> values = {};
};
template <pack::SameAs<IndexedThreadRow> T>
auto Fields(T& row) {
  return std::tie(row.updated_micros, row.values);
}

// Meta row: the names in the index of metadata, and the time up to which the index contains all
// changes. No row: the index is not complete.
inline constexpr char kMetadataIndexName[] = "metadata_index";
struct MetadataIndexRow {
  std::vector<std::string> names;
  int64_t complete_micros = 0;
};
template <pack::SameAs<MetadataIndexRow> T>
auto Fields(T& row) {
  return std::tie(row.names, row.complete_micros);
}

// The tool calls that a paused thread waits for. No row: none.
struct PauseRow {
  std::vector<OpenCall> calls;
};
template <pack::SameAs<PauseRow> T>
auto Fields(T& row) {
  return std::tie(row.calls);
}

// Reply to a mutating operation. Large parts are not stored: they are read again when it is resent.
struct ReplyRow {
  enum class Load : uint8_t { kNothing, kBeginRun, kThreadState };

  std::string body;  // packed reply body
  Load load = Load::kNothing;
  // For kBeginRun and kThreadState. When the reply is read again, the number shows if the id
  // belongs to another thread by then.
  std::string thread_id;
  uint64_t thread_number = 0;
  // For kBeginRun.
  bool created = false;
  uint64_t lease_epoch = 0;
  uint64_t remote_tools_version = 0;
  std::optional<uint64_t> reply_bytes_max = {};
  std::optional<KnownWindow> known_window = {};
};
template <pack::SameAs<ReplyRow> T>
auto Fields(T& row) {
  return std::tie(row.body, row.load, row.thread_id, row.created, row.lease_epoch,
                  row.remote_tools_version, row.thread_number, row.reply_bytes_max,
                  row.known_window);
}

// The entries of one append, keyed by the index of the last of them.
struct LogRow {
  std::vector<LogEntry> entries;
  uint64_t lease_epoch = 0;  // epoch of the run that appended them; 0: written by an older build
};
template <pack::SameAs<LogRow> T>
auto Fields(T& row) {
  return std::tie(row.entries, row.lease_epoch);
}

// The custom fields as the run in flight has loaded them. Written when another request is about to
// change them.
struct RunBaseRow {
  uint64_t lease_epoch = 0;
  std::string fields_json;
};
template <pack::SameAs<RunBaseRow> T>
auto Fields(T& row) {
  return std::tie(row.lease_epoch, row.fields_json);
}

// Name of the Meta row that holds RemoteTools.
inline constexpr char kRemoteToolsName[] = "remote_tools";

// Drops the oldest items; see FirstKeptItem.
void TrimWindow(WindowRow& window, uint64_t items_max);

}  // namespace agent_graph::state

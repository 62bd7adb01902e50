// Writes a run's log: entries and messages are buffered and appended together, fenced by the lease.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/message.h"
#include "base/status.h"
#include "run/log/log_entry.h"
#include "run/log/run_usage.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::state {
class Service;
}

namespace agent_graph::run {

// A run that logs more than this writes all its changes of the state again, as one complete entry.
// The next complete entry follows after this size, or after kCompleteEffectFactor times the size of
// the last complete entry, if that is more. So these entries add little to the size of the log.
inline constexpr size_t kCompleteEffectAfter = size_t{1} << 20;
inline constexpr size_t kCompleteEffectFactor = 4;

// Used by fibers of one engine thread: the run's and those of its tool calls. While the run's fiber
// waits for a user function, UserEmission uses it instead. Only one of them may call Flush at a
// time; it waits until the state server replies. Without a state service (no checkpointer) entries
// are discarded.
class RunLog {
 public:
  // `record`: also keep the entries for a RunListener; see TakeRecord.
  RunLog(state::Service* state, std::string thread_id, std::string run_id, uint64_t lease_epoch,
         bool record);

  // For a second log of the same run: only the first log's entries are numbered. An entry of this
  // log may occur twice if the reply to its append was lost. Call before anything is added.
  void WriteBeside() { pending_.first_entry.reset(); }

  // Buffers one entry, with the current time.
  void Add(EntryBody body);
  // Buffers a message and an entry with its origin (`node` empty: the request).
  void AddMessage(const Message& message, std::string_view message_json, std::string_view node);

  // Appends what is buffered and stores the run's position. With `durable`, the append is synced to
  // the disk before Ok is returned. kFenced: the lease is lost and nothing was written.
  Status Flush(std::string_view current_node, int64_t step, bool durable = false);
  // Merges an object into the thread's metadata with an append of its own. Buffered entries stay
  // buffered, also if the metadata would become too large. kFenced as above.
  Status MergeMetadata(std::string metadata_json, std::string_view current_node, int64_t step);
  // The position that the next entry will have among all entries of the run.
  uint64_t next_entry() const { return pending_.first_entry.value_or(0) + pending_.entries.size(); }
  // Appends from now on say whether the run's current node executes user code.
  void SetInUserCode(bool in_user_code) { pending_.in_user_code = in_user_code; }
  // Tokens and calls of this attempt; the caller adds those of earlier attempts.
  RunUsage& usage() { return usage_; }
  // True if so many bytes were logged that an entry with everything that the run has changed should
  // follow: a fold then need not read further back.
  bool wants_complete_effect() const { return bytes_since_complete_ > complete_effect_after_; }
  // True if the state gave no answer to the last append.
  bool is_cut_off() const { return cut_off_; }
  // True if a stop was requested before the last flush.
  bool stop_requested() const { return stop_requested_; }

  // Returns all entries so far, at most the first kRecordEntriesMax.
  std::vector<state::LogEntry> TakeRecord() { return std::move(record_); }

  // Appends what is buffered together with `finish` and releases the lease. The caller fills in
  // everything in `finish` except for the log.
  Status Finish(state::FinishRunRequest&& finish, std::string_view current_node, int64_t step);

 private:
  // Takes the buffered items, or a first portion of them; messages before entries.
  state::AppendRunRequest Take();
  bool HasPending() const { return !pending_.entries.empty() || !pending_.messages.empty(); }
  size_t PendingBytes() const;
  void PutBack(state::AppendRunRequest append);
  void Place(std::string_view current_node, int64_t step, bool durable);

  state::Service* state_;
  state::AppendRunRequest pending_;  // thread, run and epoch stay set; the rest is the buffer
  RunUsage usage_;
  bool stop_requested_ = false;
  bool cut_off_ = false;
  size_t bytes_since_complete_ = 0;
  size_t complete_effect_after_ = kCompleteEffectAfter;
  const bool recording_;
  std::vector<state::LogEntry> record_;
};

}  // namespace agent_graph::run

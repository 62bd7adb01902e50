// The writer of a run's log: entries and messages are collected and appended together, fenced by
// the lease.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/message.h"
#include "base/status.h"
#include "state/types.h"

namespace agent_graph::state {
class Service;
}

namespace agent_graph::run {

// Used by fibers of one engine thread, the run's and those of its tool calls; one of them flushes
// at a time. Without a state service (no checkpointer) entries go nowhere.
class RunLog {
 public:
  // `record`: entries are kept for a listener, too; see TakeRecord.
  RunLog(state::Service* state, std::string thread_id, std::string run_id, uint64_t lease_epoch,
         bool record);

  // Beside another log of the run, whose entries are counted: of this one's, those may stand twice
  // whose append was made and not answered. Before anything is added.
  void WriteBeside() { pending_.first_entry.reset(); }

  // Buffers one entry; `json` is an object's text.
  void Add(std::string kind, std::string json);
  // Buffers a message and the entry that tells where it came from (`node` empty: the request).
  void AddMessage(const Message& message, std::string message_json, std::string_view node);

  // Appends what is buffered and says where the run stands now. With `durable` the reply means
  // fsync. kFenced: the lease is not ours any more, nothing was written.
  Status Flush(std::string_view current_node, int64_t step, bool durable = false);
  // Merges an object into the thread's metadata, at once and by itself: what is buffered stays
  // where it is, also when the thread has no room for more metadata. kFenced as above.
  Status MergeMetadata(std::string metadata_json, std::string_view current_node, int64_t step);
  // The place among all of the run's entries that the next one gets.
  uint64_t next_entry() const { return pending_.first_entry.value_or(0) + pending_.entries.size(); }
  // Somebody asked the run to stop, as of the last flush.
  bool stop_requested() const { return stop_requested_; }

  // Every entry so far, or the first kRecordEntriesMax of them.
  std::vector<state::LogEntry> TakeRecord() { return std::move(record_); }

  // The last append: what is buffered is added to that of `finish`, of which the caller has filled
  // in all that is not the log's, and the lease is released.
  Status Finish(state::FinishRun finish, std::string_view current_node, int64_t step);

 private:
  // What is buffered, or its first portion; messages before entries.
  state::AppendRun Take();
  bool HasPending() const { return !pending_.entries.empty() || !pending_.messages.empty(); }
  size_t PendingBytes() const;
  void PutBack(state::AppendRun append);
  void Place(std::string_view current_node, int64_t step, bool durable);

  state::Service* state_;
  state::AppendRun pending_;  // thread, run and epoch stay; the rest is filled and emptied
  bool stop_requested_ = false;
  const bool recording_;
  std::vector<state::LogEntry> record_;
};

}  // namespace agent_graph::run

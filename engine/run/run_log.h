// The writer of a run's log: entries and messages are collected and appended together, fenced by
// the lease.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent_graph/message.h"
#include "base/status.h"
#include "state/types.h"

namespace agent_graph::state {
class Service;
}

namespace agent_graph::run {

// Used by the run's fiber only. Without a state service (no checkpointer) entries go nowhere.
class RunLog {
 public:
  RunLog(state::Service* state, std::string thread_id, std::string run_id, uint64_t lease_epoch);

  // Buffers one entry; `json` is an object's text.
  void Add(std::string kind, std::string json);
  // Buffers a message and the entry that tells where it came from (`node` empty: the request).
  void AddMessage(const Message& message, std::string message_json, std::string_view node);

  // Appends what is buffered and says where the run stands now. With `durable` the reply means
  // fsync. kFenced: the lease is not ours any more, nothing was written.
  Status Flush(std::string_view current_node, int64_t step, bool durable = false);
  // Somebody asked the run to stop, as of the last flush.
  bool stop_requested() const { return stop_requested_; }

  // The last append: what is buffered, the snapshot, a name for a thread without one (may be
  // empty), and the release of the lease.
  Status Finish(state::Snapshot snapshot, std::string status, std::string_view current_node,
                int64_t step, const std::string& thread_name);

 private:
  void Place(std::string_view current_node, int64_t step, bool durable);

  state::Service* state_;
  state::AppendRun pending_;  // thread, run and epoch stay; the rest is filled and emptied
  bool stop_requested_ = false;
};

}  // namespace agent_graph::run

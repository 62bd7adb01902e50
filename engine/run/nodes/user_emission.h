// Access of a user function, while the run waits for it, to the run's client and to its log.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "run/log/log_entry.h"
#include "run/nodes/node_runner.h"
#include "runtime/signal.h"

namespace agent_graph::run {

// Thread-safe: the function may use it on its own thread and on the fibers of its model calls.
// Calls wait for each other. After Close they fail with kCancelled.
class UserEmission {
 public:
  // `run` must be valid until Close.
  explicit UserEmission(const NodeRun& run) : run_(&run) {}

  // Emits a delta of a message. If others can follow the run to its next attempt, the log names the
  // message first.
  Status EmitPiece(std::string_view message_id, std::string_view text, std::string_view reasoning);
  // Wait for and hold memory for the replies that the function gets from models; see Emitter.
  Status AwaitPiece(uint64_t bytes);
  Status HoldPiece(uint64_t bytes);
  // Logs a model call that the function has made. If the run has a budget over several attempts,
  // the entry is stored at once, because the function may be lost with its worker.
  void LogModelCall(EntryBody call);
  // Called by the run's fiber. Waits for a call in progress.
  void Close();

 private:
  Status WhileOpen(const std::function<Status(const NodeRun&)>& work);
  Status Name(const NodeRun& run, std::string_view message_id);

  Mutex mutex_;
  const NodeRun* run_ AG_GUARDED_BY(mutex_);  // null once closed
  bool busy_ AG_GUARDED_BY(mutex_) = false;
  std::vector<runtime::Signal*> waiting_ AG_GUARDED_BY(mutex_);
  runtime::Signal idle_;

  std::set<std::string, std::less<>> named_;  // used by the call in progress only
};

}  // namespace agent_graph::run

// The life cycle of one candidate for the state server's role.
//
//   candidate ─lock─► opening ─► serving ─finish─► ended
//       ▲                │          │ └─► step down ─┐
//       │                └─ failed ◄┘                │
//       └────────────────────────────────────────────┘
//
// "failed" holds the lock, replies "unavailable" and retries. A candidate that stepped down waits
// as standby, to take over when the newer one ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "base/status.h"
#include "state/calls/executor.h"
#include "state/directory/state_directory.h"
#include "state/gateway/session.h"
#include "state/options.h"
#include "state/state_server.h"

namespace agent_graph::state {

// Thread-safe. Runs on a thread of its own, which opens and serves the stored data; Finish joins
// it.
class Role : public StateServer {
 public:
  Role(StateOptions options, StateDirectory directory, std::unique_ptr<Storage> storage);
  ~Role() override;

  Status Start();
  void Finish(Deadline deadline) override;
  bool WaitUntilServing(Deadline deadline) override;

 private:
  void Run();
  bool WaitForLock();
  void LeadUntilLeaving();
  // Serves until it must leave, or until the stored data should be reopened. A failed Status is the
  // reason why the data could not be opened, or why it is lost.
  Status Lead();
  // Recreates the socket file if it was deleted.
  void KeepSocket(uint64_t epoch, Session& session);
  // Refuses requests for some time.
  void ServeFailure(std::chrono::milliseconds time);

  // True if this candidate must leave now.
  bool LeavingLocked() const AG_REQUIRES(mutex_);
  // Returns false once this candidate must leave.
  bool Pause(std::chrono::milliseconds duration);
  void OnStepDown(uint64_t generation);
  void Log(LogLevel level, const std::string& text) const;

  const StateOptions options_;
  const uint64_t generation_;
  const StateDirectory directory_;
  const std::unique_ptr<Storage> storage_;  // the role's thread only
  FileDescriptor wake_;                     // ends the wait of a candidate
  FileDescriptor lock_;

  Mutex mutex_;
  CondVar changed_;
  bool finishing_ AG_GUARDED_BY(mutex_) = false;  // until no client is left or the deadline
  Deadline finish_deadline_ AG_GUARDED_BY(mutex_) = kNoDeadline;
  bool stepping_down_ AG_GUARDED_BY(mutex_) = false;  // a newer generation waits
  bool serving_ AG_GUARDED_BY(mutex_) = false;
  bool ended_ AG_GUARDED_BY(mutex_) = false;
  bool check_now_ AG_GUARDED_BY(mutex_) = false;  // a write has failed: call Tend at once
  size_t clients_ AG_GUARDED_BY(mutex_) = 0;      // as of the last change, of the session

  std::thread thread_;
};

// Checks the state directory and starts a candidate thread; returns at once.
Result<std::unique_ptr<StateServer>> StartRole(StateOptions options,
                                               std::unique_ptr<Storage> storage);

}  // namespace agent_graph::state

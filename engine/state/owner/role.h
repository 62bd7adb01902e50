// The life cycle of one candidate for the state server's role.
//
//   candidate ─lock─► opening ─► serving ─finish─► ended
//       ▲                │          │ └─► yield ─┐
//       │                └─ failed ◄┘            │
//       └────────────────────────────────────────┘
//
// "failed" holds the lock, replies "unavailable" and retries. If only writes fail, the server
// continues to answer reads and reopens the database when the disk accepts writes. A candidate that
// yielded waits as standby, to take over when the newer one ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "state/owner.h"
#include "state/owner/directory.h"
#include "state/owner/session.h"

namespace agent_graph::state {

// Thread-safe. Runs on a thread of its own, which opens and serves the database; Finish joins it.
class Role {
 public:
  Role(OwnerOptions options, StateDirectory directory);
  ~Role();

  Status Start();
  void Finish(Deadline deadline);
  bool WaitUntilOwning(Deadline deadline);

 private:
  void Run();
  bool WaitForLock();
  void ReignUntilLeaving();
  // Serves until it must leave, or until a failed database can be reopened. A failed Status is the
  // reason why the database could not be opened, or why its files are lost.
  Status Reign();
  // Fails if the files of the database have been moved or removed.
  Status CheckFiles(const Database& database);
  struct DatabaseWatch {
    bool low_on_space = false;        // already logged
    Deadline next_try = kNoDeadline;  // next attempt to reopen the database after a failed write
  };
  // `failure` is the error of the database's writes. Returns true if the database should be
  // reopened.
  bool TendDatabase(Database& database, const Status& failure, DatabaseWatch& watch) const;
  // Recreates the socket file if it was deleted.
  void KeepSocket(uint64_t epoch, Session& session);
  void ServeFailure();
  Result<std::unique_ptr<Database>> OpenDatabase();
  Result<uint64_t> NextEpoch(Database& database) const;

  // What ends a reign or a wait. True: leave now.
  bool LeavingLocked() const AG_REQUIRES(mutex_);
  void Pause(std::chrono::milliseconds duration);
  void OnYield(uint64_t generation);
  void Log(OwnerOptions::LogLevel level, const std::string& text) const;

  const OwnerOptions options_;
  const uint64_t generation_;
  const StateDirectory directory_;
  FileDescriptor wake_;  // ends the wait of a candidate
  FileDescriptor lock_;

  Mutex mutex_;
  CondVar changed_;
  bool finishing_ AG_GUARDED_BY(mutex_) = false;  // until no client is left or the deadline
  Deadline finish_deadline_ AG_GUARDED_BY(mutex_) = kNoDeadline;
  bool yielded_ AG_GUARDED_BY(mutex_) = false;  // a newer generation waits
  bool owning_ AG_GUARDED_BY(mutex_) = false;
  bool ended_ AG_GUARDED_BY(mutex_) = false;
  // State thread: files that were lost while they were in use. Nothing else may be opened in their
  // place: an empty database would look as if nothing had been stored.
  std::shared_ptr<const FolderWatch> lost_files_;
  Status failure_ AG_GUARDED_BY(mutex_);      // of the session
  size_t clients_ AG_GUARDED_BY(mutex_) = 0;  // as of the last change, of the session
  std::thread thread_;
};

}  // namespace agent_graph::state

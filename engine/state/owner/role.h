// The life of one owner candidate, from waiting for the lock to giving it back.
//
//   candidate ─lock─► opening ─► serving ─finish─► ended
//       ▲                │          │ └─► yield ─┐
//       │                └─ failed ◄┘            │
//       └────────────────────────────────────────┘
//
// "failed" holds the lock, answers "unavailable" and tries again. A database whose writes fail is
// still read while it serves, and opened again when the disk takes writes. A candidate that yielded
// stands by again, so that there is somebody when the newer one ends.
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
  // Serves until told to leave, or until a database that has failed may be opened again; a failed
  // Status says why it could not be opened.
  Status Reign();
  // Fails when the files of the database are no longer where they were.
  Status CheckFiles(const Database& database);
  struct DatabaseWatch {
    bool low_on_space = false;        // logged
    Deadline next_try = kNoDeadline;  // of opening it again, once writes have failed
  };
  // `failure`: of the database's writes. True: it should be opened again.
  bool TendDatabase(Database& database, const Status& failure, DatabaseWatch& watch) const;
  // Makes the socket anew that somebody has removed.
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
  FileDescriptor wake_;  // ends a candidate's wait
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

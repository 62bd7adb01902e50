// This program as a writer of a database that hosts share.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/status.h"
#include "state/postgres/cluster/membership.h"
#include "state/postgres/rows/row_database.h"

namespace agent_graph::admin {

// An instance beside those of hosts, which may be running. A thread of its own beats, so that hosts
// do not take this program for dead while it reads its source or waits for a large write. Otherwise
// used on one thread; calls block.
class DatabaseWriter {
 public:
  // `purpose`: its name in the table `instance`.
  static Result<std::unique_ptr<DatabaseWriter>> Open(const std::string& url,
                                                      const std::string& purpose);
  ~DatabaseWriter();
  DatabaseWriter(const DatabaseWriter&) = delete;
  DatabaseWriter& operator=(const DatabaseWriter&) = delete;

  state::postgres::RowDatabase& database() { return *database_; }
  // kFenced: the hosts have taken this program for dead, and every write will fail.
  Status CheckAlive();

 private:
  DatabaseWriter() = default;
  void Beat();
  void Stop();

  std::unique_ptr<state::postgres::Membership> membership_;  // of the thread, while it runs
  std::unique_ptr<state::postgres::RowDatabase> database_;
  Mutex mutex_;
  CondVar stop_;
  bool stopping_ AG_GUARDED_BY(mutex_) = false;
  bool lost_ AG_GUARDED_BY(mutex_) = false;

  std::thread beats_;
};

}  // namespace agent_graph::admin

// Connections that several threads use in turn.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "state/database_status.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state::postgres {

// Thread-safe.
class ConnectionPool {
 public:
  // `status` counts the connections in use.
  ConnectionPool(const ConnectionOptions& options, size_t count,
                 std::shared_ptr<DatabaseStatus> status);

  // Waits for a free connection. kUnavailable: none became free in time, or after Stop.
  Result<Connection*> Take();
  void Return(Connection* connection);
  // Interrupts all connections.
  void Stop();

 private:
  const std::shared_ptr<DatabaseStatus> status_;
  std::vector<std::unique_ptr<Connection>> connections_;
  Mutex mutex_;
  CondVar returned_;
  std::vector<Connection*> free_ AG_GUARDED_BY(mutex_);
  bool stopped_ AG_GUARDED_BY(mutex_) = false;
};

// Takes a connection of the pool for one call.
class BorrowedConnection {
 public:
  explicit BorrowedConnection(ConnectionPool& pool) : pool_(pool), connection_(pool.Take()) {}
  ~BorrowedConnection() {
    if (connection_.ok()) pool_.Return(*connection_);
  }
  BorrowedConnection(const BorrowedConnection&) = delete;
  BorrowedConnection& operator=(const BorrowedConnection&) = delete;
  const Result<Connection*>& get() const { return connection_; }

 private:
  ConnectionPool& pool_;
  const Result<Connection*> connection_;
};

}  // namespace agent_graph::state::postgres

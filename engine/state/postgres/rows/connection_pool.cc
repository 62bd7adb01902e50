#include "state/postgres/rows/connection_pool.h"

#include <chrono>

#include "base/clock.h"

namespace agent_graph::state::postgres {
namespace {

constexpr std::chrono::seconds kTakeTimeout{10};

}  // namespace

ConnectionPool::ConnectionPool(const ConnectionOptions& options, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    connections_.push_back(std::make_unique<Connection>(options));
    free_.push_back(connections_.back().get());
  }
}

Result<Connection*> ConnectionPool::Take() {
  MutexLock lock(mutex_);
  const Deadline deadline = DeadlineAfter(kTakeTimeout);
  while (!stopped_ && free_.empty() && returned_.WaitUntil(mutex_, deadline)) continue;
  if (stopped_ || free_.empty()) {
    return Status(StatusCode::kUnavailable, "no connection to the database is free");
  }
  Connection* const connection = free_.back();
  free_.pop_back();
  return connection;
}

void ConnectionPool::Return(Connection* connection) {
  {
    MutexLock lock(mutex_);
    free_.push_back(connection);
  }
  returned_.NotifyOne();
}

void ConnectionPool::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  returned_.NotifyAll();
  for (const auto& connection : connections_) connection->Interrupt();
}

}  // namespace agent_graph::state::postgres

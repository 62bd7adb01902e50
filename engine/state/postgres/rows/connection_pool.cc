#include "state/postgres/rows/connection_pool.h"

#include <chrono>
#include <utility>

#include "base/clock.h"

namespace agent_graph::state::postgres {
namespace {

constexpr std::chrono::seconds kTakeTimeout{10};

}  // namespace

ConnectionPool::ConnectionPool(const ConnectionOptions& options, size_t count,
                               std::shared_ptr<DatabaseStatus> status)
    : status_(std::move(status)) {
  for (size_t i = 0; i < count; ++i) {
    connections_.push_back(std::make_unique<Connection>(options));
    free_.push_back(connections_.back().get());
  }
}

Result<Connection*> ConnectionPool::Take() {
  MutexLock lock(mutex_);
  const Deadline deadline = DeadlineAfter(kTakeTimeout);
  ++status_->readers_awaited;
  while (!stopped_ && free_.empty() && returned_.WaitUntil(mutex_, deadline)) continue;
  --status_->readers_awaited;
  if (stopped_ || free_.empty()) {
    return Status(StatusCode::kUnavailable, "no connection to the database is free");
  }
  Connection* const connection = free_.back();
  free_.pop_back();
  ++status_->readers_busy;
  return connection;
}

void ConnectionPool::Return(Connection* connection) {
  {
    MutexLock lock(mutex_);
    free_.push_back(connection);
    --status_->readers_busy;
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

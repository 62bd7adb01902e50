// Messages between hosts, over NOTIFY and LISTEN of their database: soon, but not certain to
// arrive.
//
// They need no port, no certificate and no address of their own, and a host that may use the tables
// may send. A transaction that notifies holds a lock of the whole database while it commits, so a
// link has a session of its own, which writes no row and waits for no disk, and sends many messages
// together. The channel's name is random and only in the table `instance`: LISTEN itself asks for
// no right.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "base/status.h"
#include "state/database_status.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state::postgres {

// Returns a random name for MembershipOptions::channel, which cannot be guessed.
std::string NewChannelName();

struct HostLinkOptions {
  ConnectionOptions connection;
  std::string instance;  // 32 hex digits
  // Called on the link's thread, with the messages that have arrived together. Must not block.
  std::function<void(std::vector<std::string> messages)> receive;
  std::shared_ptr<DatabaseStatus> status = std::make_shared<DatabaseStatus>();
};

class HostLink {
 public:
  // A larger message is not sent.
  static constexpr size_t kMessageBytesMax = 5'000;
  // Messages that wait to be sent. Further ones are dropped.
  static constexpr size_t kQueuedBytesMax = size_t{4} * 1024 * 1024;

  explicit HostLink(HostLinkOptions options);
  ~HostLink();
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  Status Start();
  void Stop();

  // Thread-safe; never blocks. The message is lost if the other instance is dead or not connected,
  // if it or the queue is too large, or while the database is away. Messages to one instance arrive
  // in the order of these calls.
  void Send(const std::string& instance, std::string message);

 private:
  struct Queued {
    std::string instance;
    std::string message;
  };

  void Run();
  Status Exchange();
  Status Listen();
  Status SendQueued();
  void TakeArrived();
  // Returns false once the link stops.
  bool Rest(std::chrono::milliseconds time);
  std::vector<Queued> TakeQueued();

  const HostLinkOptions options_;
  const FileDescriptor wake_;  // an eventfd: the queue is not empty any more
  Connection connection_;      // link thread only, but for Interrupt
  uint64_t listening_ = 0;     // the session that listens; link thread only
  Deadline next_send_{};       // not before; link thread only
  Mutex mutex_;
  CondVar stop_;
  std::vector<Queued> queue_ AG_GUARDED_BY(mutex_);
  size_t queued_bytes_ AG_GUARDED_BY(mutex_) = 0;
  bool connected_ AG_GUARDED_BY(mutex_) = false;
  bool stopping_ AG_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace agent_graph::state::postgres

// The state server's socket: accepts clients, splits their bytes into frames, sends replies.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "state/calls/executor.h"
#include "state/directory/state_directory.h"
#include "state/gateway/wire/protocol.h"
#include "state/gateway/wire/send_queue.h"

namespace agent_graph::state {

inline constexpr size_t kConnectionsMax = 1024;
// Limit on queued requests of one connection, in bytes; above it the socket is not read.
inline constexpr size_t kQueuedBytesMax = 16 * 1024 * 1024;
// Limits on unsent replies of one connection, in bytes: above the first its socket is not read,
// above the second it is closed.
inline constexpr size_t kUnsentBytesPause = 64 * 1024 * 1024;
inline constexpr size_t kUnsentBytesMax = 256 * 1024 * 1024;

// One client connection. Thread-safe. Shared by the socket thread and by operations that reply
// later.
class Connection : public ClientConnection {
 public:
  Connection(uint64_t id, FileDescriptor socket, int epoll, int64_t process);

  uint64_t id() const override { return id_; }
  int64_t process() const { return process_; }

  // Protocol version for Welcome. Call before the executor learns of the connection.
  void set_protocol(uint32_t protocol) { protocol_ = protocol; }
  void SendAll(std::vector<ClientMessage> messages) override;
  // Sends what the socket accepts now; the socket thread sends the rest. Does nothing once closed.
  void SendFrame(std::string frame);
  // Account for a request of this size when it is queued, and again when it has been executed.
  void Enqueued(size_t bytes);
  void Executed(size_t bytes) override;
  // Shuts the socket down; the socket thread then closes the connection.
  void ShutDown();

 private:
  friend class Server;
  void SendUnsent() AG_REQUIRES(mutex_);
  void UpdateInterest() AG_REQUIRES(mutex_);

  const uint64_t id_;
  const int epoll_;
  const int64_t process_;
  // The descriptor of `socket_`. Only the socket thread closes it, so this thread may read from it
  // without the lock, which a sender may be holding.
  const int descriptor_;
  uint32_t protocol_ = wire::kProtocolMax;

  Mutex mutex_;
  FileDescriptor socket_ AG_GUARDED_BY(mutex_);
  wire::SendQueue unsent_ AG_GUARDED_BY(mutex_);
  size_t queued_bytes_ AG_GUARDED_BY(mutex_) = 0;
  uint32_t interest_ AG_GUARDED_BY(mutex_) = 0;

  wire::FrameReader reader_;  // socket thread only
};

// Callbacks of Server. They run on the socket thread and must not block.
class ServerEvents {
 public:
  virtual ~ServerEvents() = default;
  // Returns false if the frame is malformed: the connection is then closed.
  virtual bool OnFrame(const std::shared_ptr<Connection>& connection, std::string payload) = 0;
  virtual void OnClosed(const std::shared_ptr<Connection>& connection) = 0;
};

// Accepts and serves connections on one thread of its own, which owns the epoll set. Start,
// ListenOn and Stop may be called from any other thread.
class Server {
 public:
  Server(FileDescriptor listener, ServerEvents& events);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Status Start();
  // Switches to another listening socket; existing connections stay open.
  void ListenOn(FileDescriptor listener);
  // Sends `farewell` (may be empty) on every connection, closes all of them and joins the thread.
  void Stop(const std::string& farewell);

 private:
  void Run();
  void Wake();
  void OnWake();
  void AcceptAll();
  void RefuseOne();
  void Handle(uint64_t id, uint32_t events);
  bool Receive(const std::shared_ptr<Connection>& connection);
  void Close(const std::shared_ptr<Connection>& connection);

  FileDescriptor listener_;  // socket thread
  Mutex mutex_;
  FileDescriptor next_listener_ AG_GUARDED_BY(mutex_);  // until the socket thread takes it

  FileDescriptor epoll_;
  FileDescriptor wake_;
  // reserve descriptor, closed to accept and refuse a client when no descriptors are left
  FileDescriptor spare_;
  ServerEvents& events_;
  std::unique_ptr<char[]> buffer_;  // receive buffer; socket thread only
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  uint64_t next_id_ = 2;  // ids 0 and 1 are the listener and the wake-up
  std::unordered_map<uint64_t, std::shared_ptr<Connection>> connections_;  // socket thread
};

}  // namespace agent_graph::state

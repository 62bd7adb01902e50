// One reign of the state owner: a database, an epoch, a socket, and the threads between them.
//
// The socket thread only sorts requests: mutating ones to the write thread, which executes all that
// have gathered and commits them as one batch (one fsync when any of them needs it); reads to two
// read threads; searches and deep offsets to a thread of their own, and searches through memories
// to two others, so that they delay nobody; what reads everything, for an administrator, has one,
// too.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "state/leveldb/database.h"
#include "state/leveldb/listing_heads.h"
#include "state/leveldb/reader.h"
#include "state/leveldb/store.h"
#include "state/owner/server.h"

namespace agent_graph::state {

// Work for the threads of a session, first in, first out.
template <typename Item>
class WorkQueue {
 public:
  void Push(Item item) {
    {
      MutexLock lock(mutex_);
      items_.push_back(std::move(item));
    }
    ready_.NotifyOne();
  }

  // Up to `count` items; empty at the deadline or once stopped.
  std::vector<Item> Take(size_t count, Deadline deadline) {
    MutexLock lock(mutex_);
    while (!stopped_ && items_.empty() && ready_.WaitUntil(mutex_, deadline)) continue;
    std::vector<Item> taken;
    while (!stopped_ && !items_.empty() && taken.size() < count) {
      taken.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    return taken;
  }

  void Stop() {
    {
      MutexLock lock(mutex_);
      stopped_ = true;
    }
    ready_.NotifyAll();
  }
  bool stopped() {
    MutexLock lock(mutex_);
    return stopped_;
  }

 private:
  Mutex mutex_;
  CondVar ready_;
  // Bounded by kQueuedBytesMax and kOperationsInFlightMax of each connection.
  std::deque<Item> items_ AG_GUARDED_BY(mutex_);
  bool stopped_ AG_GUARDED_BY(mutex_) = false;
};

// Calls arrive on the session's threads and must not block.
struct SessionEvents {
  // The database takes no more writes. The session refuses them from now on and goes on reading.
  std::function<void(const Status&)> on_failed;
  std::function<void(uint64_t generation)> on_yield;
  std::function<void(size_t clients)> on_clients_changed;
  std::function<void(const Store::Report&)> on_report;  // may be empty
};

struct SessionOptions {
  uint64_t epoch = 0;
  SyncLevel sync = SyncLevel::kRun;
  std::chrono::seconds thread_ttl{0};  // see OwnerOptions
  size_t memory_index_bytes_max = size_t{1} << 30;
  std::string index_directory;   // see MemoryIndex
  std::string backup_directory;  // see Reader
};

class Session : private ServerEvents {
 public:
  Session(std::unique_ptr<Database> database, SessionOptions options, SessionEvents events);
  ~Session() override;

  Status Start(FileDescriptor listener);
  // After Start. Accepts clients on this socket instead.
  void ListenOn(FileDescriptor listener) { server_->ListenOn(std::move(listener)); }
  Database& database() { return *database_; }
  enum class Farewell { kNone, kGoAway };
  // Finishes the batch in progress and interrupts long reads; what waits unanswered is sent again
  // by the clients.
  void Stop(Farewell farewell);

 private:
  struct WriteItem {
    enum class Kind { kConnect, kRequest, kPong, kDisconnect, kLeave };
    Kind kind = Kind::kRequest;
    std::shared_ptr<Connection> connection;
    std::string client;
    std::string payload;  // kRequest
    wire::Hello hello;    // kConnect
  };
  struct ReadItem {
    std::shared_ptr<Connection> connection;
    std::string payload;    // a request, or
    uint64_t sequence = 0;  // the request that is answered
    ReplyRow load;          // with what this says
  };

  bool OnFrame(const std::shared_ptr<Connection>& connection, std::string payload) override;
  void OnClosed(const std::shared_ptr<Connection>& connection) override;
  bool OnHello(const std::shared_ptr<Connection>& connection, pack::Unpacker& unpacker);
  bool OnRequest(const std::shared_ptr<Connection>& connection, std::string payload);

  Status AddThread(const std::string& name, std::function<void()> body);
  void Write();
  // After a Commit that failed. `items`: the latest requests, of which the first `executed` were.
  void RefuseWrites(std::vector<WriteItem> items, size_t executed);
  void Welcome(const WriteItem& item);
  void Reclaim();
  void Execute(WriteItem& item);
  bool Commit();
  void SendReplies(std::vector<StoreReply> replies);
  void Read(WorkQueue<ReadItem>& queue);
  void ExecuteRead(ReadItem& item);
  WorkQueue<ReadItem>& QueueOf(Reader::Cost cost);

  const std::unique_ptr<Database> database_;
  const SessionOptions options_;
  const SessionEvents events_;
  Store store_;  // write thread, after Start
  ListingHeads heads_;
  MemoryIndex memories_;
  Reader reader_;  // thread-safe
  // Connections by id, for replies; a Begin is answered long after its request. Write thread.
  std::unordered_map<uint64_t, std::shared_ptr<Connection>> connections_;

  // Socket thread.
  std::unordered_map<uint64_t, std::string> client_of_connection_;
  std::unordered_map<std::string, std::shared_ptr<Connection>> connection_of_client_;

  std::atomic<bool> stopping_{false};
  WorkQueue<WriteItem> writes_;
  WorkQueue<ReadItem> reads_;
  WorkQueue<ReadItem> searches_;
  WorkQueue<ReadItem> memory_searches_;
  WorkQueue<ReadItem> maintenance_;
  WorkQueue<std::pair<std::string, std::string>> deleted_ranges_;  // to be compacted
  std::unique_ptr<Server> server_;
  std::vector<std::thread> threads_;
};

}  // namespace agent_graph::state

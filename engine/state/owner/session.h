// One serving period of the state server: a database, an epoch, a socket and the threads between
// them.
//
// The socket thread only dispatches requests. Mutating requests go to the write thread, which
// executes all that are queued and commits them as one batch (group commit: one fsync if any of
// them needs it). Reads go to two read threads. Slow work has threads of its own so that it does
// not delay other requests: one for searches and large offsets, two for searches through memories,
// one for maintenance operations that read the whole database.
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

// FIFO work queue between the threads of a session. Thread-safe.
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

  // Returns up to `count` items; empty at the deadline or after Stop.
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

// Callbacks of Session. They run on the session's threads and must not block.
struct SessionEvents {
  // A write to the database failed. From now on the session refuses writes; reads continue.
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

// Owned by Role, which calls Start, ListenOn and Stop from its thread.
class Session : private ServerEvents {
 public:
  Session(std::unique_ptr<Database> database, SessionOptions options, SessionEvents events);
  ~Session() override;

  Status Start(FileDescriptor listener);
  // Call after Start. Switches to another listening socket.
  void ListenOn(FileDescriptor listener) { server_->ListenOn(std::move(listener)); }
  Database& database() { return *database_; }
  enum class Farewell { kNone, kGoAway };
  // Finishes the current batch and interrupts long reads. Clients resend what was not answered.
  void Stop(Farewell farewell);

 private:
  struct WriteItem {
    enum class Kind { kConnect, kRequest, kPong, kDisconnect, kLeave };
    Kind kind = Kind::kRequest;
    std::shared_ptr<Connection> connection;
    std::string client;
    std::string payload;  // for kRequest
    wire::Hello hello;    // for kConnect
  };
  struct ReadItem {
    std::shared_ptr<Connection> connection;
    std::string payload;    // a packed request; if empty, the next two fields apply
    uint64_t sequence = 0;  // the request to answer
    ReplyRow load;          // what to read for the reply
  };

  bool OnFrame(const std::shared_ptr<Connection>& connection, std::string payload) override;
  void OnClosed(const std::shared_ptr<Connection>& connection) override;
  bool OnHello(const std::shared_ptr<Connection>& connection, pack::Unpacker& unpacker);
  bool OnRequest(const std::shared_ptr<Connection>& connection, std::string payload);

  Status AddThread(const std::string& name, std::function<void()> body);
  void Write();
  // Called after a Commit that failed. `items` are the latest requests, of which the first
  // `executed` have been executed.
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
  Store store_;  // write thread only, after Start
  ListingHeads heads_;
  MemoryIndex memories_;
  Reader reader_;  // thread-safe
  // Connections by id, to send replies; a Begin can be answered long after its request. Write
  // thread only.
  std::unordered_map<uint64_t, std::shared_ptr<Connection>> connections_;

  // Socket thread only.
  std::unordered_map<uint64_t, std::string> client_of_connection_;
  std::unordered_map<std::string, std::shared_ptr<Connection>> connection_of_client_;

  std::atomic<bool> stopping_{false};
  WorkQueue<WriteItem> writes_;
  WorkQueue<ReadItem> reads_;
  WorkQueue<ReadItem> searches_;
  WorkQueue<ReadItem> memory_searches_;
  WorkQueue<ReadItem> maintenance_;
  WorkQueue<std::pair<std::string, std::string>> deleted_ranges_;  // key ranges to compact
  std::unique_ptr<Server> server_;
  std::vector<std::thread> threads_;
};

}  // namespace agent_graph::state

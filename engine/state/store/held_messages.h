// Messages to clients that wait for the disk.
//
// A commit writes its changes without an fsync, so that the next batch can be executed during the
// fsync of this one. Messages that acknowledge changes, or show them, are held here until a thread
// has synced them; one fsync serves all messages that are held when it begins.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "state/calls/executor.h"

namespace agent_graph::state {

// Size of held messages above which no further replies to reads are held.
inline constexpr size_t kHeldBytesMax = 64 * 1024 * 1024;

// ExpectWrite, NoteWritten and MustHold are called on the thread that commits. Everything else is
// thread-safe.
class HeldMessages {
 public:
  struct Item {
    std::shared_ptr<ClientConnection> connection;
    ClientMessage message;
    // If set, it is called in place of sending `message`.
    std::function<void()> deliver = {};
    // Set if this item is a request that waits for the sync, and not a reply: its size, by which
    // the queue of its connection shrinks if the sync fails.
    size_t request_bytes = 0;
    // A later message to the same connection must not be sent before this one.
    bool is_ordered = false;
    uint64_t write = 0;  // waits for this write; set by the functions that take items
  };

  // `sync` makes durable what was written before the call, and may block. `on_failed` is called
  // once, on the thread that syncs, and must not block.
  HeldMessages(std::function<Status()> sync, std::function<void(const Status&)> on_failed);
  ~HeldMessages();
  HeldMessages(const HeldMessages&) = delete;
  HeldMessages& operator=(const HeldMessages&) = delete;

  Status Start();
  // Delivers what is held and joins the thread.
  void Stop();

  // Call before a write that needs a sync; from then on readers may see it.
  void ExpectWrite();
  // Call after that write, also if it has failed. Soon syncs the write, and then sends `items`.
  void NoteWritten(std::vector<Item> items);
  // Holds messages until everything that readers may have seen is on the disk.
  void Hold(std::vector<Item> items);
  // True if a message for this connection has to be held even if it acknowledges nothing:
  // an ordered message is held.
  bool MustHold(uint64_t connection) const;
  // True if readers may have seen writes that are not on the disk.
  bool is_behind() const;
  // True if that is so and large messages are held: execute no read whose reply would have to wait.
  bool is_full() const;
  // True after a failed sync: from then on is_behind, and every reply is refused.
  bool failed() const;

 private:
  void Add(std::vector<Item> items) AG_REQUIRES(mutex_);
  bool HasWork() const AG_REQUIRES(mutex_);
  // The items that wait for writes which are complete.
  std::vector<Item> TakeItems() AG_REQUIRES(mutex_);
  void Forget(const std::vector<uint64_t>& ordered) AG_REQUIRES(mutex_);
  void Run();
  void Deliver(std::vector<Item> items, const Status& synced);

  const std::function<Status()> sync_;
  const std::function<void(const Status&)> on_failed_;
  std::thread thread_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Item> held_ AG_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, size_t> ordered_ AG_GUARDED_BY(mutex_);  // held, by connection
  // Numbers of the writes that are expected, complete, and on the disk.
  uint64_t expected_ AG_GUARDED_BY(mutex_) = 0;
  uint64_t written_ AG_GUARDED_BY(mutex_) = 0;
  uint64_t synced_ AG_GUARDED_BY(mutex_) = 0;
  std::atomic<size_t> bytes_ = 0;  // of messages that are held or being sent
  bool failed_ AG_GUARDED_BY(mutex_) = false;
  bool stopped_ AG_GUARDED_BY(mutex_) = false;
};

}  // namespace agent_graph::state

// Messages to clients that wait for the disk.
//
// A commit writes its changes without an fsync, so that the next batch can be executed during the
// fsync of this one. Messages that acknowledge changes are held here until a thread has synced
// them; one fsync serves all messages that are held when it begins.
#pragma once

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

// Hold and MustHold are for one thread, that which commits. Everything else is thread-safe.
class HeldMessages {
 public:
  struct Item {
    std::shared_ptr<ClientConnection> connection;
    ClientMessage message;
    // If set, it is called in place of sending `message`.
    std::function<void()> deliver = {};
    // A later message to the same connection must not be sent before this one.
    bool is_ordered = false;
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

  void Hold(std::vector<Item> items);
  // True if a message for this connection has to be held even if it acknowledges nothing:
  // an ordered message is held.
  bool MustHold(uint64_t connection) const;
  // True if something is held: what was committed before may not be on the disk yet.
  bool holds() const;
  // True after a failed sync. Replies are then refused.
  bool failed() const;

 private:
  void Run();
  void Deliver(std::vector<Item> items, const Status& synced);

  const std::function<Status()> sync_;
  const std::function<void(const Status&)> on_failed_;
  std::thread thread_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Item> held_ AG_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, size_t> ordered_ AG_GUARDED_BY(mutex_);  // held, by connection
  bool delivering_ AG_GUARDED_BY(mutex_) = false;
  bool failed_ AG_GUARDED_BY(mutex_) = false;
  bool stopped_ AG_GUARDED_BY(mutex_) = false;
};

}  // namespace agent_graph::state

// The decoded working windows of the threads that this worker has run last.
//
// To load a window means to read and to parse each of its messages, which costs more than a short
// run. So a run leaves its window here, and the next one asks the state only for the messages that
// were added since. The reply lists the messages of the window, so that it does not matter who has
// changed the thread meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "base/mutex.h"
#include "base/recent_map.h"
#include "base/status.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::run {

// The messages of a window in both forms, which have the same order.
struct DecodedWindow {
  uint64_t thread_number = 0;
  uint64_t version = 0;  // BeginRunReply::window_version; 0: not known
  // Ordered by sequence number. Messages that the last run has added come last and have none yet.
  std::vector<state::StoredMessage> stored;
  std::vector<Message> messages;
};

// Thread-safe; no call blocks.
class WindowCache {
 public:
  // `count_bytes` is called with the difference whenever the memory of the windows changes. It must
  // not call the cache.
  WindowCache(size_t bytes_max, std::function<void(int64_t bytes)> count_bytes);
  ~WindowCache();
  WindowCache(const WindowCache&) = delete;
  WindowCache& operator=(const WindowCache&) = delete;

  // The window that the next BeginRun of the thread may name as known. Returns it also while a run
  // has taken the window out.
  std::optional<state::KnownWindow> Find(const std::string& thread_id);
  // Takes the window out for a run. nullopt: it is not there any more.
  std::optional<DecodedWindow> Take(const std::string& thread_id);
  // Keeps the window of a run that ends, unless it is large or cannot be recognised.
  void Keep(const std::string& thread_id, DecodedWindow window);
  void Forget(const std::string& thread_id);
  // Frees all windows.
  void Clear();

 private:
  struct Entry {
    state::KnownWindow known;
    std::optional<DecodedWindow> window;  // nullopt: a run has it
    size_t bytes = 0;
  };
  void Drop(const std::string& thread_id) AG_REQUIRES(mutex_);
  void Count(Entry& entry, size_t bytes) AG_REQUIRES(mutex_);

  const size_t bytes_max_;
  const std::function<void(int64_t)> count_bytes_;
  Mutex mutex_;
  RecentMap<std::string, Entry> entries_ AG_GUARDED_BY(mutex_);
  size_t bytes_ AG_GUARDED_BY(mutex_) = 0;
};

// Completes a reply to BeginRun whose window is partial, and returns all messages of the window
// decoded. kNotFound: `window` is another one, or lacks a message.
Result<std::vector<Message>> CompleteWindow(DecodedWindow window, state::BeginRunReply& reply);

// Estimate of the memory that the messages of a window take, as bytes of JSON.
uint64_t WindowWeight(const std::vector<state::StoredMessage>& window);

}  // namespace agent_graph::run

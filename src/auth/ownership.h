// Looks up the owner of a conversation thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "auth/owner_cache.h"
#include "base/status.h"
#include "state/types.h"

namespace agent_graph::auth {

enum class Ownership : uint8_t {
  kCaller,
  kRemembered,    // a cache names the caller as owner
  kForeign,       // owned by another user, or without an owner
  kNoThread,      // does not exist: the caller may create it
  kUnresolvable,  // the checkpointer cannot determine it
  kFailed,        // the lookup failed
};

// Reads a thread's record, regardless of its owner. Call it on fibers.
using ReadThread = std::function<Result<state::ThreadRecord>(const std::string& thread_id)>;

// Thread-safe. Find and Read run on fibers and may suspend.
class OwnerLookup {
 public:
  using Warn = std::function<void(const std::string&)>;

  // `read` may be null: the result is then kUnresolvable for every thread. `shared` may be null.
  OwnerLookup(ReadThread read, std::unique_ptr<SharedOwnerCache> shared, Warn warn);

  // Looks the owner up in the caches, then with Read.
  Ownership Find(const std::string& user_id, const std::string& thread_id);
  // Reads the thread, without the caches, and updates them.
  Ownership Read(const std::string& user_id, const std::string& thread_id);
  // Removes the thread from both caches.
  void Evict(const std::string& thread_id);
  // Removes the thread from this worker's cache only.
  void Forget(const std::string& thread_id) { owners_.Evict(thread_id); }

 private:
  const ReadThread read_;
  OwnerCache owners_;
  const std::unique_ptr<SharedOwnerCache> shared_;
  const Warn warn_;
};

}  // namespace agent_graph::auth

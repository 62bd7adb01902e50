// Whose a conversation thread is.
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
  kRemembered,    // the caller's, says a cache
  kForeign,       // another user's, or nobody's
  kNoThread,      // not there yet: the caller may make it
  kUnresolvable,  // the checkpointer cannot tell
  kFailed,        // the lookup failed
};

// Reads a thread's record, whoever owns it. On fibers.
using ReadThread = std::function<Result<state::ThreadRecord>(const std::string& thread_id)>;

// Thread-safe; on fibers.
class OwnerLookup {
 public:
  using Warn = std::function<void(const std::string&)>;

  // `read` may be null: kUnresolvable for every thread. `shared` may be null.
  OwnerLookup(ReadThread read, std::unique_ptr<SharedOwnerCache> shared, Warn warn);

  Ownership Find(const std::string& user_id, const std::string& thread_id);
  // The same without what is remembered.
  Ownership Read(const std::string& user_id, const std::string& thread_id);
  void Evict(const std::string& thread_id);
  // The same in this worker alone.
  void Forget(const std::string& thread_id) { owners_.Evict(thread_id); }

 private:
  const ReadThread read_;
  OwnerCache owners_;
  const std::unique_ptr<SharedOwnerCache> shared_;
  const Warn warn_;
};

}  // namespace agent_graph::auth

// Caches of thread owners: one in this worker, and one in Redis for all workers.
//
// Entries may be stale, therefore they may only allow a request. If a stale entry allows one, the
// state service still refuses it, because it gets the caller's scope. A denial is always confirmed
// by reading the thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/recent_map.h"
#include "net/redis_link.h"

namespace agent_graph::auth {

inline constexpr size_t kOwnersMax = 10'000;

// An LRU cache of at most `owners_max` threads. Thread-safe; never blocks on the network.
class OwnerCache {
 public:
  explicit OwnerCache(size_t owners_max = kOwnersMax) : owners_(owners_max) {}

  std::optional<std::string> Find(const std::string& thread_id);
  void Put(const std::string& thread_id, const std::string& owner);
  void Evict(const std::string& thread_id);
  size_t size() const;

 private:
  mutable Mutex mutex_;
  RecentMap<std::string, std::string> owners_ AG_GUARDED_BY(mutex_);  // by thread id
};

// The shared cache: `<prefix>:<thread_id>` → owner, for a day. Errors count as misses.
// Thread-safe; call it on fibers, Find suspends.
class SharedOwnerCache {
 public:
  SharedOwnerCache(net::RedisEndpoint endpoint, std::string prefix, net::RedisLink::Warn warn);

  std::optional<std::string> Find(const std::string& thread_id);
  // Put and Evict send the command and do not wait for the reply.
  void Put(const std::string& thread_id, const std::string& owner);
  void Evict(const std::string& thread_id);

 private:
  std::string Key(const std::string& thread_id) const { return prefix_ + ":" + thread_id; }
  void Send(std::vector<std::string> arguments);

  const std::string prefix_;
  const std::shared_ptr<net::RedisLink> link_;  // shared with fibers that may outlive a call
};

}  // namespace agent_graph::auth

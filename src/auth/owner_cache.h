// Who owns a conversation thread, remembered: in this worker, and in Redis for all of them.
//
// What is remembered may be stale, so it may only allow: a stale allow is refused by the state
// service below, which is given the caller's scope, and a denial is confirmed by a read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/redis_link.h"

namespace agent_graph::auth {

inline constexpr size_t kOwnersMax = 10'000;

// Least recently used threads are forgotten. Thread-safe.
class OwnerCache {
 public:
  explicit OwnerCache(size_t owners_max = kOwnersMax) : owners_max_(owners_max) {}

  std::optional<std::string> Find(const std::string& thread_id);
  void Put(const std::string& thread_id, const std::string& owner);
  void Evict(const std::string& thread_id);
  size_t size() const;

 private:
  struct Entry {
    std::string thread_id;
    std::string owner;
  };
  using Entries = std::list<Entry>;  // the latest used first

  const size_t owners_max_;
  mutable std::mutex mutex_;
  Entries entries_;  // guarded by mutex_
  // Guarded by mutex_; keys point into entries_.
  std::unordered_map<std::string_view, Entries::iterator> places_;
};

// The second tier: `<prefix>:<thread_id>` → owner, without expiry. Errors are misses. Thread-safe;
// on fibers.
class SharedOwnerCache {
 public:
  SharedOwnerCache(net::RedisEndpoint endpoint, std::string prefix, net::RedisLink::Warn warn);

  std::optional<std::string> Find(const std::string& thread_id);
  // Sent, not awaited.
  void Put(const std::string& thread_id, const std::string& owner);
  void Evict(const std::string& thread_id);

 private:
  std::string Key(const std::string& thread_id) const { return prefix_ + ":" + thread_id; }
  void Send(std::vector<std::string> arguments);

  const std::string prefix_;
  const std::shared_ptr<net::RedisLink> link_;  // shared with the fibers that outlive a call
};

}  // namespace agent_graph::auth

// Who owns a conversation thread, remembered: in this worker, and in Redis for all of them.
//
// What is remembered may be stale, so it may only allow: a stale allow is refused by the state
// service below, which is given the caller's scope, and a denial is confirmed by a read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/redis.h"

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

inline constexpr std::chrono::milliseconds kSharedOwnerTimeout{100};
// Redis is left alone for so long after it failed, so that it costs nobody else its timeout.
inline constexpr std::chrono::milliseconds kSharedOwnerPause{2'000};

// The second tier: `<prefix>:<thread_id>` → owner, without expiry. Errors are misses. Thread-safe;
// on fibers.
class SharedOwnerCache {
 public:
  using Warn = std::function<void(const std::string&)>;

  SharedOwnerCache(net::RedisEndpoint endpoint, std::string prefix, Warn warn);

  std::optional<std::string> Find(const std::string& thread_id);
  // Sent, not awaited.
  void Put(const std::string& thread_id, const std::string& owner);
  void Evict(const std::string& thread_id);

 private:
  // Shared with the fibers that outlive a call.
  struct Link {
    Link(net::RedisEndpoint endpoint, Warn warn_in)
        : client(std::move(endpoint)), warn(std::move(warn_in)) {}
    std::optional<net::RedisReply> Call(const std::vector<std::string>& arguments);
    bool paused() const { return MonotonicClock::now().time_since_epoch().count() < paused_until; }

    net::RedisClient client;
    const Warn warn;
    std::atomic<int64_t> paused_until{0};  // ticks of MonotonicClock
    std::atomic<bool> failing{false};      // told already
  };

  std::string Key(const std::string& thread_id) const { return prefix_ + ":" + thread_id; }
  void Send(std::vector<std::string> arguments);

  const std::string prefix_;
  const std::shared_ptr<Link> link_;
};

}  // namespace agent_graph::auth

// Rows of threads as this host has last read and written them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace agent_graph::state::postgres {

struct CachedThread {
  int64_t version = 0;  // version of the lease row that belongs to these rows
  std::string place;    // see PlaceOf
  // By key. nullopt: there is no such row. Rows that are missing here are not known.
  std::map<std::string, std::optional<std::string>> rows = {};
  // All messages from this key on are in `rows`; empty: the messages are not known.
  std::string messages_from = {};

  // `key` may be one of any kind and thread; only rows that later batches read are kept.
  void Know(std::string_view key, std::optional<std::string_view> value);
  // The value of a known row; nullopt: it is not known.
  std::optional<std::optional<std::string>> Find(const std::string& key) const;
  // Forgets large rows and the oldest messages, so that the rest takes at most `bytes_max`.
  void Trim(size_t bytes_max);
  size_t bytes() const;
};

// Not thread-safe. Forgets the conversation threads that were used least recently.
class ThreadCache {
 public:
  static constexpr size_t kThreadBytesMax = 256 * 1024;

  explicit ThreadCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Takes the rows out; nullopt: the thread is not known. `key` is that of its record.
  std::optional<CachedThread> Take(const std::string& key);
  // Valid until the next call; null: the thread is not known.
  const CachedThread* Find(const std::string& key);
  void Put(const std::string& key, CachedThread thread);
  void Erase(const std::string& key);
  void Clear();

 private:
  using Threads = std::unordered_map<std::string, CachedThread>;

  const size_t bytes_max_;
  // When the newer half is full it becomes the older one, whose threads are forgotten.
  Threads newer_;
  Threads older_;
  size_t newer_bytes_ = 0;
};

}  // namespace agent_graph::state::postgres

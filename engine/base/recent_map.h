// A map with least-recently-used eviction.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

namespace agent_graph {

// Keeps at most `entries_max` entries, those that were used last. Not thread-safe.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class RecentMap {
 public:
  explicit RecentMap(size_t entries_max) : entries_max_(entries_max) {}
  RecentMap(const RecentMap&) = delete;
  RecentMap& operator=(const RecentMap&) = delete;

  // Returns the value, valid until its entry is erased or evicted; null if there is none. Counts as
  // a use of the entry.
  Value* Find(const Key& key) {
    const auto place = places_.find(&key);
    if (place == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, place->second);
    return &place->second->second;
  }
  // The same, but does not count as a use.
  Value* Peek(const Key& key) {
    const auto place = places_.find(&key);
    return place == places_.end() ? nullptr : &place->second->second;
  }
  // Adds the entry, or replaces its value.
  void Put(Key key, Value value) {
    if (Value* const known = Find(key)) {
      *known = std::move(value);
      return;
    }
    entries_.emplace_front(std::move(key), std::move(value));
    places_.emplace(&entries_.front().first, entries_.begin());
    if (entries_.size() > entries_max_) Erase(std::prev(entries_.end()));
  }
  void Erase(const Key& key) {
    const auto place = places_.find(&key);
    if (place != places_.end()) Erase(place->second);
  }
  // Key of the entry that was not used for the longest time; null: the map is empty.
  const Key* OldestKey() const { return entries_.empty() ? nullptr : &entries_.back().first; }
  size_t size() const { return entries_.size(); }

 private:
  using Entries = std::list<std::pair<const Key, Value>>;  // most recently used first
  struct HashOfKey {
    size_t operator()(const Key* key) const { return Hash()(*key); }
  };
  struct SameKey {
    bool operator()(const Key* one, const Key* other) const { return *one == *other; }
  };

  void Erase(typename Entries::iterator entry) {
    places_.erase(&entry->first);
    entries_.erase(entry);
  }

  const size_t entries_max_;
  Entries entries_;
  // Keys point into entries_.
  std::unordered_map<const Key*, typename Entries::iterator, HashOfKey, SameKey> places_;
};

}  // namespace agent_graph

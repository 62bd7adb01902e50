// Rate-limit windows of many keys in one block of memory, which processes may share.
//
// The table has no pointers and no lists: a key has two buckets of kWays places each, and a process
// that dies during a change damages at most one place. If both buckets are full of active keys, the
// least recently used key is evicted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "limits/options.h"
#include "limits/sip_hash.h"
#include "limits/sliding_window.h"

namespace agent_graph::limits {

// The decision about a request, with values for its response headers.
struct RateDecision {
  bool admitted = true;
  uint32_t limit = 0;
  uint32_t remaining = 0;
  uint32_t reset_after_seconds = 0;
  bool evicted = false;  // another key was evicted and lost its count
};

// Not thread-safe: processes that share the memory must contain a lock around Check and read the
// clock while they hold it. Never blocks.
class RateTable {
 public:
  static constexpr size_t kKeysMin = 512;
  static constexpr size_t kKeysMax = 128 * 1024;

  static WindowShape ShapeOf(const RateLimitOptions& options);
  // Minimum bytes of a table, and the maximum that a table can use.
  static size_t BytesMin(const RateLimitOptions& options);
  static size_t BytesMax(const RateLimitOptions& options);

  // Initializes `memory` (aligned to 8 bytes, at least BytesMin) as an empty table of `bytes`
  // bytes.
  static void Format(void* memory, size_t bytes, const RateLimitOptions& options,
                     const HashKey& seed);
  // True if `memory` was formatted for the same limit.
  static bool Fits(const void* memory, const RateLimitOptions& options);

  // Uses memory that was formatted. Does not own it.
  explicit RateTable(void* memory) : header_(static_cast<Header*>(memory)) {}

  // Counts a request of `key` and decides about it. `now` must not decrease from call to call.
  RateDecision Check(std::string_view key, Millis now);
  size_t capacity() const { return header_->buckets * kWays; }

 private:
  static constexpr size_t kWays = 8;

  struct Header {
    WindowShape shape;
    uint32_t by;
    uint32_t place_bytes;
    uint64_t buckets;
    HashKey seed;
  };
  struct Place {
    Hash128 key;  // zero: free
    Millis last_used;
    // The window's record follows.
    void* record() { return this + 1; }
  };

  static size_t PlaceBytes(const WindowShape& shape) { return sizeof(Place) + shape.bytes(); }
  Place& PlaceAt(uint64_t bucket, size_t way) const;
  uint64_t BucketOf(uint64_t hash) const;
  bool IsFree(const Place& place, Millis now) const;
  Place& Choose(const Hash128& hash, Millis now, bool& evicted) const;

  Header* const header_;
};

}  // namespace agent_graph::limits

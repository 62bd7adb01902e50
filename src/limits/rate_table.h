// The windows of many keys in one block of memory, which may be shared between processes.
//
// No pointers and no lists: a key has two buckets of a few places each, and a process that dies in
// the middle of a change spoils at most one place. When both buckets are full of keys that are
// still counting, the one that was not used for longest gives way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "limits/options.h"
#include "limits/sip_hash.h"
#include "limits/sliding_window.h"

namespace agent_graph::limits {

struct RateDecision {
  bool admitted = true;
  uint32_t limit = 0;
  uint32_t remaining = 0;
  uint32_t reset_after_seconds = 0;
  bool evicted = false;  // another key lost its count
};

// Not thread-safe: whoever shares the memory holds a lock around Check, and reads the clock inside.
class RateTable {
 public:
  static constexpr size_t kKeysMin = 512;
  static constexpr size_t kKeysMax = 128 * 1024;

  static WindowShape ShapeOf(const RateLimitOptions& options);
  // What the table needs at least, and what it can make use of at most.
  static size_t BytesMin(const RateLimitOptions& options);
  static size_t BytesMax(const RateLimitOptions& options);

  // Makes `memory` (aligned to 8, at least BytesMin) an empty table of that size.
  static void Format(void* memory, size_t bytes, const RateLimitOptions& options,
                     const HashKey& seed);
  // Whether `memory` was formatted for the same limit.
  static bool Fits(const void* memory, const RateLimitOptions& options);

  // A view of formatted memory.
  explicit RateTable(void* memory) : header_(static_cast<Header*>(memory)) {}

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
    Hash128 key;  // zeros: free
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

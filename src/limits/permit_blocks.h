// Permits that a worker has taken from a shared rate limit in advance, so that not every request
// needs a round trip.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/recent_map.h"

namespace agent_graph::limits {

// Thread-safe. The shared limit counts a block from the moment of its grant until a window after
// its expiry, so permits that are used or lost never let a window have more than the limit.
class PermitBlocks {
 public:
  // A block has at most this part of the limit.
  static constexpr uint32_t kBlocksMin = 256;
  static constexpr size_t kKeysMax = 10'000;

  explicit PermitBlocks(uint32_t limit) : block_max_(limit / kBlocksMin), blocks_(kKeysMax) {}

  // Takes a permit of a block that has not expired; returns the number of requests that the whole
  // limit had left at the grant. nullopt: ask for a block.
  std::optional<uint32_t> Take(const std::string& key, Deadline now);
  // Size of the next block: a quarter of what the last one let through, so that at most that much
  // is lost when requests stop.
  uint32_t Wanted(const std::string& key);
  // A block of `permits` was granted, of which the caller uses one now.
  void Add(const std::string& key, uint32_t permits, uint32_t remaining, Deadline expires);

 private:
  struct Block {
    uint32_t permits = 0;    // permits that are left
    uint32_t remaining = 0;  // permits of the limit that remain
    uint32_t used = 0;       // since the first block of the same expiry
    uint32_t used_before = 0;
    Deadline expires{};
  };

  const uint32_t block_max_;
  Mutex mutex_;
  RecentMap<std::string, Block> blocks_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::limits

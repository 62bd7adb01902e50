#include "limits/permit_blocks.h"

#include <algorithm>
#include <chrono>

namespace agent_graph::limits {
namespace {

constexpr uint32_t kUsedPerPermit = 4;
// Grants of one sub-window expire together, but are measured one after the other.
constexpr std::chrono::milliseconds kSameExpiry{5};

}  // namespace

std::optional<uint32_t> PermitBlocks::Take(const std::string& key, Deadline now) {
  MutexLock lock(mutex_);
  Block* const block = blocks_.Find(key);
  if (block == nullptr || block->permits == 0 || now >= block->expires) return std::nullopt;
  --block->permits;
  ++block->used;
  return block->remaining + block->permits;
}

uint32_t PermitBlocks::Wanted(const std::string& key) {
  MutexLock lock(mutex_);
  const Block* const block = blocks_.Peek(key);
  const uint32_t used = block == nullptr ? 0 : std::max(block->used, block->used_before);
  return std::clamp<uint32_t>(used / kUsedPerPermit, 1, std::max<uint32_t>(block_max_, 1));
}

void PermitBlocks::Add(const std::string& key, uint32_t permits, uint32_t remaining,
                       Deadline expires) {
  MutexLock lock(mutex_);
  Block next;
  if (const Block* const block = blocks_.Peek(key)) {
    const bool is_same = expires - block->expires < kSameExpiry;
    next = *block;
    if (!is_same) {
      next.used_before = next.used;
      next.used = 0;
      next.permits = 0;
    }
    // The permits that are left of an earlier block of this sub-window keep its time of expiry.
    if (is_same) expires = std::min(expires, block->expires);
  }
  next.permits += permits - 1;
  next.used += 1;
  next.remaining = remaining;
  next.expires = expires;
  blocks_.Put(key, next);
}

}  // namespace agent_graph::limits

#include "limits/rate_table.h"

#include <algorithm>
#include <cstring>

namespace agent_graph::limits {
namespace {

constexpr uint32_t kMillisPerSecond = 1000;

// Returns the waiting time for the client in whole seconds, rounded up.
uint32_t WaitSeconds(uint32_t wait_ms) {
  return std::max<uint32_t>(1, (wait_ms + kMillisPerSecond - 1) / kMillisPerSecond);
}

size_t Keys(const RateLimitOptions& options, size_t keys, size_t one_bucket) {
  return options.by == RateLimitOptions::By::kGlobal ? one_bucket : keys;
}

}  // namespace

WindowShape RateTable::ShapeOf(const RateLimitOptions& options) {
  return {options.requests, options.window_seconds * kMillisPerSecond};
}

size_t RateTable::BytesMin(const RateLimitOptions& options) {
  return sizeof(Header) + Keys(options, kKeysMin, kWays) * PlaceBytes(ShapeOf(options));
}

size_t RateTable::BytesMax(const RateLimitOptions& options) {
  return sizeof(Header) + Keys(options, kKeysMax, kWays) * PlaceBytes(ShapeOf(options));
}

void RateTable::Format(void* memory, size_t bytes, const RateLimitOptions& options,
                       const HashKey& seed) {
  bytes = std::min(bytes, BytesMax(options));
  std::memset(memory, 0, bytes);
  auto* header = static_cast<Header*>(memory);
  header->shape = ShapeOf(options);
  header->by = static_cast<uint32_t>(options.by);
  header->place_bytes = static_cast<uint32_t>(PlaceBytes(header->shape));
  header->buckets = (bytes - sizeof(Header)) / (kWays * header->place_bytes);
  header->seed = seed;
}

bool RateTable::Fits(const void* memory, const RateLimitOptions& options) {
  const auto* header = static_cast<const Header*>(memory);
  return header->shape == ShapeOf(options) && header->by == static_cast<uint32_t>(options.by);
}

RateTable::Place& RateTable::PlaceAt(uint64_t bucket, size_t way) const {
  auto* first = reinterpret_cast<std::byte*>(header_ + 1);
  return *reinterpret_cast<Place*>(first + (bucket * kWays + way) * header_->place_bytes);
}

uint64_t RateTable::BucketOf(uint64_t hash) const {
  return (hash >> 32) * header_->buckets >> 32;
}

bool RateTable::IsFree(const Place& place, Millis now) const {
  return place.key == Hash128{} || now - place.last_used > header_->shape.window_ms;
}

// Returns the key's own place, or a free place of the bucket that has more of them, or the least
// recently used place.
RateTable::Place& RateTable::Choose(const Hash128& hash, Millis now, bool& evicted) const {
  Place* free = nullptr;
  Place* oldest = &PlaceAt(BucketOf(hash[0]), 0);
  size_t most_free = 0;
  for (uint64_t half : hash) {
    uint64_t bucket = BucketOf(half);
    size_t free_here = 0;
    Place* free_place = nullptr;
    for (size_t way = 0; way < kWays; ++way) {
      Place& place = PlaceAt(bucket, way);
      if (place.key == hash) return place;
      if (IsFree(place, now)) {
        ++free_here;
        free_place = &place;
      } else if (place.last_used < oldest->last_used) {
        oldest = &place;
      }
    }
    if (free_here > most_free) {
      most_free = free_here;
      free = free_place;
    }
  }
  evicted = free == nullptr;
  return free != nullptr ? *free : *oldest;
}

RateDecision RateTable::Check(std::string_view key, Millis now) {
  const WindowShape& shape = header_->shape;
  const Hash128 hash = SipHash128(header_->seed, key);
  RateDecision decision;
  Place& place = Choose(hash, now, decision.evicted);
  if (place.key != hash || IsFree(place, now)) {
    place.key = Hash128{};
    std::memset(place.record(), 0, shape.bytes());
    place.last_used = now;
    place.key = hash;
  }
  WindowDecision window = CheckWindow(shape, place.record(), now);
  place.last_used = now;
  decision.admitted = window.admitted;
  decision.limit = shape.requests;
  decision.remaining = window.remaining;
  decision.reset_after_seconds =
      window.admitted ? shape.window_ms / kMillisPerSecond : WaitSeconds(window.wait_ms);
  return decision;
}

}  // namespace agent_graph::limits

// Counts durations by size, for metrics. Without locks, so that it may lie in memory that processes
// share.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace agent_graph {

// Upper bounds of the buckets in microseconds, inclusive: from an operation of the state to an
// answer of a model.
inline constexpr std::array<uint64_t, 14> kDurationBounds = {
    500,     1'000,   2'500,     5'000,     10'000,     25'000,     100'000,
    250'000, 500'000, 1'000'000, 2'500'000, 10'000'000, 30'000'000, 120'000'000};
inline constexpr size_t kDurationBuckets = kDurationBounds.size() + 1;  // the last has no bound

// The content of a histogram at some moment.
struct DurationCounts {
  std::array<uint64_t, kDurationBuckets> buckets{};  // each without those below it
  uint64_t micros = 0;                               // the sum of all durations

  uint64_t Total() const {
    uint64_t total = 0;
    for (const uint64_t bucket : buckets) total += bucket;
    return total;
  }
  // The durations counted after `earlier`.
  DurationCounts Since(const DurationCounts& earlier) const {
    DurationCounts more;
    for (size_t i = 0; i < kDurationBuckets; ++i) more.buckets[i] = buckets[i] - earlier.buckets[i];
    more.micros = micros - earlier.micros;
    return more;
  }
};

// Any thread or process may write and read. Relaxed order is enough, because the counts are
// independent. Zeroed memory is an empty histogram.
struct DurationHistogram {
  std::atomic<uint64_t> buckets[kDurationBuckets];
  std::atomic<uint64_t> micros;

  void Add(uint64_t duration_micros) {
    size_t bucket = 0;
    while (bucket < kDurationBounds.size() && duration_micros > kDurationBounds[bucket]) ++bucket;
    buckets[bucket].fetch_add(1, std::memory_order_relaxed);
    micros.fetch_add(duration_micros, std::memory_order_relaxed);
  }
  void Add(const DurationCounts& more) {
    for (size_t i = 0; i < kDurationBuckets; ++i) {
      if (more.buckets[i] != 0) buckets[i].fetch_add(more.buckets[i], std::memory_order_relaxed);
    }
    micros.fetch_add(more.micros, std::memory_order_relaxed);
  }
  DurationCounts Read() const {
    DurationCounts counts;
    for (size_t i = 0; i < kDurationBuckets; ++i) {
      counts.buckets[i] = buckets[i].load(std::memory_order_relaxed);
    }
    counts.micros = micros.load(std::memory_order_relaxed);
    return counts;
  }
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace agent_graph

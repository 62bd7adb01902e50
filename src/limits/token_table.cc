#include "limits/token_table.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace agent_graph::limits {
namespace {

constexpr size_t kTokenWays = 8;
constexpr uint64_t kTokenSubWindows = 60;
// One more than sub-windows: a window starts in the middle of a sub-window.
constexpr uint64_t kTokenCounters = kTokenSubWindows + 1;
constexpr uint64_t kSecondMillis = 1000;

uint64_t TokenClock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecondMillis +
         static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

}  // namespace

struct TokenTable::Header {
  pthread_mutex_t mutex;
  uint64_t window_ms;
  uint64_t buckets;
  HashKey seed;

  uint64_t width() const { return (window_ms + kTokenSubWindows - 1) / kTokenSubWindows; }
};

// A free place has the key zero.
struct TokenTable::Place {
  Hash128 key;
  uint64_t last_used;
  uint64_t newest;  // sub-window, counted from the start of the clock
  uint64_t counts[kTokenCounters];

  void Forget(uint64_t current) {
    if (current - newest >= kTokenCounters) {
      std::memset(counts, 0, sizeof counts);
    } else {
      for (uint64_t next = newest + 1; next <= current; ++next) counts[next % kTokenCounters] = 0;
    }
    newest = current;
  }
};

class TokenTable::Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) {
    // The process that died with the lock has damaged one place at most, which holds numbers only.
    if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
  }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

size_t TokenTable::BytesOf(size_t users) {
  return sizeof(Header) + (users + kTokenWays - 1) / kTokenWays * kTokenWays * sizeof(Place);
}

bool TokenTable::Format(void* memory, size_t bytes, const TokenLimitOptions& options,
                        const HashKey& seed) {
  bytes = std::min(bytes, BytesOf(kUsersMax));
  std::memset(memory, 0, bytes);
  auto* header = new (memory) Header{};
  header->window_ms = uint64_t{options.window_seconds} * kSecondMillis;
  header->buckets = (bytes - sizeof(Header)) / (kTokenWays * sizeof(Place));
  header->seed = seed;
  pthread_mutexattr_t attributes;
  if (pthread_mutexattr_init(&attributes) != 0) return false;
  const bool made = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                    pthread_mutex_init(&header->mutex, &attributes) == 0;
  pthread_mutexattr_destroy(&attributes);
  return made;
}

bool TokenTable::Fits(const void* memory, const TokenLimitOptions& options) {
  return static_cast<const Header*>(memory)->window_ms ==
         uint64_t{options.window_seconds} * kSecondMillis;
}

TokenTable::Place* TokenTable::BucketOf(uint64_t hash) const {
  auto* places = reinterpret_cast<Place*>(header_ + 1);
  return places + (hash >> 32) * header_->buckets / (uint64_t{1} << 32) * kTokenWays;
}

TokenTable::Place* TokenTable::Find(const Hash128& hash) const {
  for (const uint64_t half : hash) {
    Place* bucket = BucketOf(half);
    for (size_t way = 0; way < kTokenWays; ++way) {
      if (bucket[way].key == hash) return &bucket[way];
    }
  }
  return nullptr;
}

TokenTable::Place& TokenTable::Choose(const Hash128& hash, uint64_t now) const {
  if (Place* own = Find(hash)) return *own;
  Place* oldest = BucketOf(hash[0]);
  for (const uint64_t half : hash) {
    Place* bucket = BucketOf(half);
    for (size_t way = 0; way < kTokenWays; ++way) {
      // A free place has never been used, so it is the oldest one.
      if (bucket[way].last_used < oldest->last_used) oldest = &bucket[way];
    }
  }
  *oldest = Place{};
  oldest->key = hash;
  oldest->last_used = now;
  return *oldest;
}

TokensUsed TokenTable::Read(std::string_view user) const {
  const Hash128 hash = SipHash128(header_->seed, user);
  const Lock lock(header_->mutex);
  // Under the lock, so that times never decrease.
  const uint64_t now = TokenClock();
  TokensUsed used;
  Place* place = Find(hash);
  if (place == nullptr) return used;
  place->last_used = now;
  const uint64_t width = header_->width();
  const uint64_t current = now / width;
  place->Forget(current);
  uint64_t oldest_end = 0;
  const uint64_t first = current - std::min<uint64_t>(current, kTokenCounters - 1);
  for (uint64_t index = first; index <= current; ++index) {
    const uint64_t end = (index + 1) * width;
    const uint64_t here = place->counts[index % kTokenCounters];
    if (here == 0 || end + header_->window_ms <= now) continue;
    if (used.tokens == 0) oldest_end = end;
    used.tokens += here;
  }
  if (used.tokens > 0) {
    const uint64_t wait_ms = oldest_end + header_->window_ms - now;
    used.wait_seconds = static_cast<uint32_t>((wait_ms + kSecondMillis - 1) / kSecondMillis);
  }
  return used;
}

void TokenTable::Charge(std::string_view user, uint64_t tokens) const {
  const Hash128 hash = SipHash128(header_->seed, user);
  const Lock lock(header_->mutex);
  const uint64_t now = TokenClock();
  Place& place = Choose(hash, now);
  place.last_used = now;
  const uint64_t current = now / header_->width();
  place.Forget(current);
  uint64_t& count = place.counts[current % kTokenCounters];
  count += std::min(tokens, ~count);
}

}  // namespace agent_graph::limits

#include "base/ids.h"

#include <pthread.h>
#include <sys/random.h>

#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "base/hex.h"

namespace agent_graph {
namespace {

constexpr size_t kPoolBytes = 4096;

// Random bytes are read in pages. The pool counts forks, so that two processes never return the
// same bytes.
struct RandomPool {
  unsigned char bytes[kPoolBytes];
  size_t used = kPoolBytes;
  unsigned forks = 0;
};

std::atomic<unsigned> forks{0};

[[maybe_unused]] const int fork_hook =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

void TakeRandom(void* out, size_t length) {
  static thread_local RandomPool pool;
  const unsigned forked = forks.load(std::memory_order_relaxed);
  if (pool.used + length > kPoolBytes || pool.forks != forked) {
    size_t filled = 0;
    while (filled < kPoolBytes) {
      ssize_t got = getrandom(pool.bytes + filled, kPoolBytes - filled, 0);
      if (got > 0) filled += static_cast<size_t>(got);
    }
    pool.used = 0;
    pool.forks = forked;
  }
  std::memcpy(out, pool.bytes + pool.used, length);
  std::memset(pool.bytes + pool.used, 0, length);
  pool.used += length;
}

}  // namespace

uint64_t RandomUint64() {
  uint64_t value;
  TakeRandom(&value, sizeof value);
  return value;
}

std::string NewHexId() {
  unsigned char bytes[16];
  TakeRandom(bytes, sizeof bytes);
  return Hex(bytes, sizeof bytes);
}

namespace {

std::string Uuid(unsigned char (&bytes)[16]) {
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  // A hyphen follows the 4th, 6th, 8th and 10th byte.
  constexpr unsigned char kPlaces[] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
  std::string uuid(36, '-');
  for (size_t i = 0; i < sizeof bytes; ++i) WriteHex(bytes[i], &uuid[kPlaces[i]]);
  return uuid;
}

}  // namespace

std::string NewUuid() {
  unsigned char bytes[16];
  TakeRandom(bytes, sizeof bytes);
  return Uuid(bytes);
}

std::string NewOrderedUuid() {
  constexpr size_t kTimeBytes = 6;
  unsigned char bytes[16];
  int64_t millis = UnixMicros() / 1000;
  for (size_t i = kTimeBytes; i > 0; --i, millis >>= 8) {
    bytes[i - 1] = static_cast<unsigned char>(millis & 0xff);
  }
  TakeRandom(bytes + kTimeBytes, sizeof bytes - kTimeBytes);
  return Uuid(bytes);
}

}  // namespace agent_graph

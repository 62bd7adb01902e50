#include "base/ids.h"

#include <sys/random.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace agent_graph {
namespace {

constexpr size_t kPoolBytes = 4096;

// Random bytes are fetched a page at a time; the pid guards against a fork handing two processes
// the same bytes.
struct RandomPool {
  unsigned char bytes[kPoolBytes];
  size_t used = kPoolBytes;
  pid_t owner = 0;
};

void TakeRandom(void* out, size_t length) {
  static thread_local RandomPool pool;
  if (pool.used + length > kPoolBytes || pool.owner != getpid()) {
    size_t filled = 0;
    while (filled < kPoolBytes) {
      ssize_t got = getrandom(pool.bytes + filled, kPoolBytes - filled, 0);
      if (got > 0) filled += static_cast<size_t>(got);
    }
    pool.used = 0;
    pool.owner = getpid();
  }
  std::memcpy(out, pool.bytes + pool.used, length);
  std::memset(pool.bytes + pool.used, 0, length);
  pool.used += length;
}

std::string Hex(const unsigned char* bytes, size_t length) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(length * 2, '0');
  for (size_t i = 0; i < length; ++i) {
    text[2 * i] = kDigits[bytes[i] >> 4];
    text[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return text;
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

std::string NewUuid() {
  unsigned char bytes[16];
  TakeRandom(bytes, sizeof bytes);
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string hex = Hex(bytes, sizeof bytes);
  for (size_t position : {8, 13, 18, 23}) hex.insert(position, 1, '-');
  return hex;
}

}  // namespace agent_graph

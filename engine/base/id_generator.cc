#include "base/id_generator.h"

#include <algorithm>
#include <chrono>

#include "base/ids.h"

namespace agent_graph {
namespace {

constexpr uint64_t kIntegerWorkers = 64;  // one id per worker in this many microseconds
constexpr uint64_t kBigintWorkers = 1024;

// Bits of a snowflake below the milliseconds.
constexpr int kCountBits = 7;
constexpr int kWorkerBits = 10;
constexpr int kNodeBits = 5;
constexpr uint64_t kCountMask = (1u << kCountBits) - 1;
constexpr uint64_t kWorkerMask = (1u << kWorkerBits) - 1;
constexpr uint64_t kMillisMask = (uint64_t{1} << 41) - 1;

uint64_t UnixNanos() {
  using std::chrono::nanoseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<nanoseconds>(now).count());
}

}  // namespace

uint64_t IdGenerator::NextTick(uint64_t now) const {
  uint64_t last = last_.load(std::memory_order_relaxed);
  uint64_t next;
  do {
    next = std::max(last + 1, now);
  } while (!last_.compare_exchange_weak(last, next, std::memory_order_relaxed));
  return next;
}

std::string IdGenerator::Next() const {
  switch (options_.kind) {
    case IdKind::kUuid:
      break;
    case IdKind::kInteger: {
      const uint64_t tick = NextTick(UnixNanos() / 1000 / kIntegerWorkers);
      return std::to_string(tick * kIntegerWorkers + options_.worker % kIntegerWorkers);
    }
    case IdKind::kBigint: {
      const uint64_t tick = NextTick(UnixNanos() / kBigintWorkers);
      return std::to_string(tick * kBigintWorkers + options_.worker % kBigintWorkers);
    }
    case IdKind::kSnowflake: {
      // A wrong clock may be before the epoch; then the value wraps around and ids continue.
      const uint64_t now =
          (UnixNanos() / 1'000'000 - static_cast<uint64_t>(options_.epoch_millis)) & kMillisMask;
      const uint64_t tick = NextTick(now << kCountBits);
      const uint64_t id = ((tick >> kCountBits) & kMillisMask)
                              << (kNodeBits + kWorkerBits + kCountBits) |
                          uint64_t{options_.node} << (kWorkerBits + kCountBits) |
                          (options_.worker & kWorkerMask) << kCountBits | (tick & kCountMask);
      return std::to_string(id);
    }
  }
  return NewOrderedUuid();
}

std::string_view IdGenerator::name() const {
  switch (options_.kind) {
    case IdKind::kUuid:
      return "UUIDGenerator";
    case IdKind::kInteger:
      return "IntegerIDGenerator";
    case IdKind::kBigint:
      return "BigIntIDGenerator";
    case IdKind::kSnowflake:
      return "SnowFlakeIdGenerator";
  }
  return "UUIDGenerator";
}

std::string_view IdGenerator::type() const {
  switch (options_.kind) {
    case IdKind::kUuid:
      return "string";
    case IdKind::kInteger:
      return "integer";
    case IdKind::kBigint:
    case IdKind::kSnowflake:
      return "bigint";
  }
  return "string";
}

}  // namespace agent_graph

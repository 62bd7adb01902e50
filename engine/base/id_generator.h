// Generates ids of threads and messages, of the kind that the operator chose.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace agent_graph {

enum class IdKind : uint8_t {
  kUuid,       // NewOrderedUuid
  kInteger,    // microseconds since 1970: exact as a JavaScript number
  kBigint,     // nanoseconds since 1970
  kSnowflake,  // 63 bits: milliseconds since `epoch_millis`, node, worker, counter
};

struct IdOptions {
  static constexpr uint32_t kNodesMax = 32;
  static constexpr int64_t kEpochDefault = 1'609'459'200'000;  // 2021-01-01

  IdKind kind = IdKind::kUuid;
  uint32_t node = 0;  // snowflake only: number of the machine, below kNodesMax
  int64_t epoch_millis = kEpochDefault;
  // Distinguishes processes that are alive at the same time on one machine.
  uint32_t worker = 0;
};

// Ids of one generator never repeat. They grow, except for UUIDs: those of one millisecond are in
// random order, and they go back with the clock.
// Ids of two workers differ as long as the worker numbers differ modulo 64 (integer) or 1024
// (bigint, snowflake). Thread-safe.
class IdGenerator {
 public:
  explicit IdGenerator(IdOptions options = {}) : options_(options) {}

  std::string Next() const;

  // Name and type in the response of GET /v1/graph: "UUIDGenerator" and "string", ...
  std::string_view name() const;
  std::string_view type() const;

 private:
  // The clock in units of one id each, increased so that every call returns a larger value.
  uint64_t NextTick(uint64_t now) const;

  const IdOptions options_;
  mutable std::atomic<uint64_t> last_{0};
};

}  // namespace agent_graph

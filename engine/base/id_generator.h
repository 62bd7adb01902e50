// Ids of threads and messages, of the kind the operator chose.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace agent_graph {

enum class IdKind : uint8_t {
  kUuid,       // random, version 4
  kInteger,    // microseconds since 1970: safe as a number of JavaScript
  kBigint,     // nanoseconds since 1970
  kSnowflake,  // milliseconds since `epoch_millis` · node · worker · count, 63 bits
};

struct IdOptions {
  static constexpr uint32_t kNodesMax = 32;
  static constexpr int64_t kEpochDefault = 1'609'459'200'000;  // 2021-01-01

  IdKind kind = IdKind::kUuid;
  uint32_t node = 0;  // of a snowflake: tells machines apart, below kNodesMax
  int64_t epoch_millis = kEpochDefault;
  // Tells the processes of one machine apart that are alive at the same time.
  uint32_t worker = 0;
};

// Ids of one generator never repeat and, but for UUIDs, grow. Those of two workers differ as long
// as their numbers differ modulo 64 (integer) or 1024 (bigint, snowflake). Thread-safe.
class IdGenerator {
 public:
  explicit IdGenerator(IdOptions options = {}) : options_(options) {}

  std::string Next() const;

  // As GET /v1/graph names them: "UUIDGenerator" and "string", ...
  std::string_view name() const;
  std::string_view type() const;

 private:
  // The clock in units that hold one id each, made to grow with every call.
  uint64_t NextTick(uint64_t now) const;

  const IdOptions options_;
  mutable std::atomic<uint64_t> last_{0};
};

}  // namespace agent_graph

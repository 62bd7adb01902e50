// Status of each worker in shared memory: one row per process, written only by its event loop and
// read by the process that answers a status request. A row holds its process id, so that gauges of
// a killed process are not counted; its counters are kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ngx_module/config.h"

namespace agent_graph::nginx {

struct ServiceZone;

// Route classes by which requests are counted.
enum class RouteClass : uint8_t {
  kPing,
  kReady,
  kGraph,
  kThreads,
  kStore,
  kFiles,
  kEvals,
  kObservability,
  kDocs,
  kOpenAi,
  kAgUi,
  kMcp,
  kOther,
  kCount
};
// How a request or run ended.
enum class Outcome : uint8_t {
  kOk,
  kError,
  kRejected,
  kCancelled,
  kClientAbort,
  kTimeout,
  kShutdown,
  kCount
};
// Reasons for rejecting a request, by the status sent to the client.
enum class Refusal : uint8_t {
  kInvalid,
  kForbidden,
  kNotFound,
  kMethod,
  kBusy,
  kTooLarge,
  kRateLimited,
  kOverloaded,
  kOther,
  kCount
};
// Counters without labels. "Micros": total microseconds of the counted operations.
enum class StatusCounter : uint8_t {
  kRateAdmitted,
  kRateRefused,
  kRateUnchecked,
  kRateEvicted,
  kCreditStalls,
  kDoorbells,
  kLiveSessions,
  kLiveRefused,
  kLiveReconnects,
  kLiveFramesForwarded,
  kLiveForwardMicros,
  kLiveAudioForwarded,
  kLiveAudioMicros,
  kLiveFramesDropped,
  kLiveAudioDropped,
  kModelReplies,
  kModelFailures,
  kModelMicros,
  kModelInputTokens,
  kModelOutputTokens,
  kStateAnswers,
  kStateMicros,
  kUnknownEffects,
  kCount
};
// Current values and recent maximums.
enum class StatusGauge : uint8_t {
  kUp,
  kInFlight,
  kQueueWaiting,
  kQueueRunning,
  kOutboxItems,
  kBufferedBytes,
  kMemoryBytes,
  kMemoryWaiting,
  kSockets,
  kLiveOpen,
  kLoopDelayMicros,
  kRunsContinued,  // the state's total, as this worker has read it last
  kRunsPoisoned,   // likewise
  kRunWaitMicros,
  kFollowers,
  kCount
};

template <typename Enum>
inline constexpr size_t kCountOf = static_cast<size_t>(Enum::kCount);

// Monotonic counters. One writer; relaxed order is enough, because the counters are independent.
struct StatusCounters {
  using Cell = std::atomic<uint64_t>;

  Cell requests[kCountOf<RouteClass>][kCountOf<Outcome>];
  Cell runs[kCountOf<Outcome>];
  Cell refusals[kCountOf<Refusal>];
  Cell plain[kCountOf<StatusCounter>];

  static void Increment(Cell& cell, uint64_t by = 1) {
    cell.store(cell.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  void Add(StatusCounter counter, uint64_t by = 1) {
    Increment(plain[static_cast<size_t>(counter)], by);
  }
  // Copies a counter that is kept elsewhere.
  void Set(StatusCounter counter, uint64_t value) {
    plain[static_cast<size_t>(counter)].store(value, std::memory_order_relaxed);
  }
  uint64_t Get(StatusCounter counter) const {
    return plain[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  }
  // Adds all counters of `other` to these.
  void Fold(const StatusCounters& other);
  void Clear();
};

// The row of one process: written by its event loop, read by any process.
struct StatusRow {
  std::atomic<int64_t> pid;          // 0: free
  std::atomic<uint64_t> started;     // in clock ticks since boot; detects a reused pid
  std::atomic<uint64_t> generation;  // counts configurations
  std::atomic<uint32_t> worker;
  std::atomic<bool> draining;
  std::atomic<uint64_t> gauges[kCountOf<StatusGauge>];
  StatusCounters counters;

  void Set(StatusGauge gauge, uint64_t value) {
    gauges[static_cast<size_t>(gauge)].store(value, std::memory_order_relaxed);
  }
  uint64_t Get(StatusGauge gauge) const {
    return gauges[static_cast<size_t>(gauge)].load(std::memory_order_relaxed);
  }
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Called when a worker starts: retires the rows of dead processes, then takes a row. Release is
// called when it exits, and frees the row.
void ClaimStatusRow(const ServiceConfig& service) noexcept;
void ReleaseStatusRow(const ServiceConfig& service) noexcept;
// This worker's row; null if none was free.
StatusRow* FindStatusRow(const ServiceConfig& service);

// The processes that own the rows of a service, and which of them have died. A process whose state
// is unknown is alive, because the row of a live process must never be taken. Reads /proc for each
// row, so it must not be made under the zone's lock.
class RowOwners {
 public:
  explicit RowOwners(const ServiceZone& zone);
  // Call it under the zone's lock. False for a row that has changed its owner since.
  bool HasDied(const StatusRow& row) const;

 private:
  struct Owner {
    const StatusRow* row;
    int64_t pid;
    uint64_t started;
  };

  std::vector<Owner> dead_;
};

// Marks this worker as draining if at least `others_min` other workers of its or a later
// configuration accept connections. False: there are fewer of them, or this worker has no row.
bool LeaveToOthers(const ServiceConfig& service, size_t others_min);

// Counts one more WebSocket in this worker's row; claims a row first if the worker has none. False:
// all workers together have `max` open sockets, or no row is free.
bool TakeSharedSocketPlace(const ServiceConfig& service, uint64_t max);

// The class of a route by its pattern in the route table.
RouteClass RouteClassOf(std::string_view pattern);
// Called once per request, at its end.
void CountRequest(const ServiceConfig& service, RouteClass route, std::string_view outcome,
                  ngx_uint_t http_status);
// Called once per run of the graph, at its end.
void CountRun(const ServiceConfig& service, std::string_view outcome);

std::string_view NameOf(RouteClass value);
std::string_view NameOf(Outcome value);
std::string_view NameOf(Refusal value);

}  // namespace agent_graph::nginx

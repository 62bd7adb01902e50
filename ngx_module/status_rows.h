// What each worker says about itself, in shared memory: one row per process, written by its event
// loop alone and read by whoever answers a status request. A row names its process, so that the
// gauges of one that was killed are not counted; what it counted is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "config.h"

namespace agent_graph::nginx {

struct RequestContext;

// The classes a request is counted under.
enum class RouteClass : uint8_t {
  kPing,
  kGraph,
  kThreads,
  kStore,
  kFiles,
  kEvals,
  kObservability,
  kDocs,
  kOther,
  kCount
};
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
// Why a request was rejected, by the status it was told.
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
  kLiveSoundForwarded,
  kLiveSoundMicros,
  kLiveFramesDropped,
  kLiveSoundDropped,
  kModelReplies,
  kModelFailures,
  kModelMicros,
  kModelInputTokens,
  kModelOutputTokens,
  kStateAnswers,
  kStateMicros,
  kCount
};
// What is now, or was worst lately.
enum class StatusGauge : uint8_t {
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
  kCount
};

template <typename Enum>
inline constexpr size_t kCountOf = static_cast<size_t>(Enum::kCount);

// Counters only grow. One writer; relaxed, because each stands for itself.
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
  // Of a counter that is kept elsewhere.
  void Set(StatusCounter counter, uint64_t value) {
    plain[static_cast<size_t>(counter)].store(value, std::memory_order_relaxed);
  }
  uint64_t Get(StatusCounter counter) const {
    return plain[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  }
  // Adds all of `other` to this.
  void Fold(const StatusCounters& other);
  void Clear();
};

struct StatusRow {
  std::atomic<int64_t> pid;       // 0: free
  std::atomic<uint64_t> started;  // in the kernel's clock ticks since boot: tells a pid used again
  std::atomic<uint64_t> generation;  // of the configuration
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

// In a worker that starts: takes a row, after what dead processes counted was put aside. In one
// that ends: gives it back.
void ClaimStatusRow(const ServiceConfig& service) noexcept;
void ReleaseStatusRow(const ServiceConfig& service) noexcept;
// This worker's row; null when there was none free.
StatusRow* FindStatusRow(const ServiceConfig& service);
// Whether the process that wrote the row still runs. What cannot be told counts as alive: the row
// of a living process must never be taken.
bool IsAlive(const StatusRow& row);

// Counts one more WebSocket in this worker's row, which it claims again where none was free. False:
// `max` are open in all workers together, or there still is no row.
bool TakeSharedSocketPlace(const ServiceConfig& service, uint64_t max);

// Once per request, at its end.
void CountRequest(const RequestContext& context);
// Once per run of the graph, at its end.
void CountRun(const ServiceConfig& service, std::string_view outcome);

std::string_view NameOf(RouteClass value);
std::string_view NameOf(Outcome value);
std::string_view NameOf(Refusal value);

}  // namespace agent_graph::nginx

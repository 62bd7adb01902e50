// Limits how many places of a kind, such as open WebSockets, are taken on all hosts together. Redis
// counts them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "limits/options.h"
#include "net/redis_link.h"
#include "runtime/cancellation.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::limits {

// Thread-safe. Redis has the number of places of each worker, for as long as the worker repeats it:
// the places of a worker that was killed are free after kLifetime.
class SharedPlaces {
 public:
  static constexpr std::chrono::seconds kLifetime{10};

  // Returns null for a total that is not counted in Redis. `options` must outlive the object.
  static Result<std::unique_ptr<SharedPlaces>> Create(const PlaceLimitOptions& options,
                                                      net::RedisLink::Warn warn);

  // Sends the number of this worker's places again and again, on a fiber of `runtime`, until Close.
  void Start(runtime::Runtime& runtime);
  void Close();

  // Takes a place and returns true; false: there is none, or so many ask that this call did not get
  // its turn at Redis. Suspends the calling fiber. Returns true also if Redis does not answer, so
  // each host then has only its own limit.
  bool Take();
  // Returns a place. Other workers can use it after the next report to Redis, within a second.
  void Release() { --taken_; }

  // Reports to Redis how many places this worker has; Start sends it each second. A worker without
  // places reports 0 each time. That is cheap: Redis keeps no row for it.
  std::vector<std::string> ReportCommand() const;

 private:
  SharedPlaces(const PlaceLimitOptions& options, net::RedisEndpoint endpoint,
               net::RedisLink::Warn warn);
  std::vector<std::string> Command(uint64_t places, uint64_t limit, uint64_t takes) const;

  const PlaceLimitOptions& options_;
  const std::string worker_;  // its name in Redis
  net::RedisLink link_;
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> takes_{0};  // calls of Take
  runtime::Cancellation closed_;
};

// A place that was taken; gives it back when it is destroyed.
class SharedPlace {
 public:
  explicit SharedPlace(SharedPlaces& places) : places_(&places, GiveBack) {}

 private:
  static void GiveBack(SharedPlaces* places) { places->Release(); }

  std::unique_ptr<SharedPlaces, void (*)(SharedPlaces*)> places_;
};

}  // namespace agent_graph::limits

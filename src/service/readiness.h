// Observes what a worker needs to serve requests, so that nginx's thread can ask without waiting.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

#include "api/resources/ready.h"
#include "base/clock.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::service {

// Each part is checked by a fiber of its own, again and again, so that a check that hangs delays no
// other one. A part fails if its latest check has failed, or if no check has ended for kStale.
class Readiness {
 public:
  static constexpr std::chrono::milliseconds kInterval{1000};
  static constexpr std::chrono::milliseconds kStale{4000};

  // Runs on a fiber, which it may suspend; ends early when cancelled.
  using Check = std::function<Status(const runtime::Cancellation& cancellation)>;

  // Adds a check. Not after Start. A part without a check never fails.
  void Add(api::ReadyPart part, Check check);
  // Starts the fibers, which use this object until Close has ended them.
  void Start(runtime::Runtime& runtime);
  // Ends the fibers; returns at once.
  void Close() { cancellation_.Cancel(runtime::CancelReason::kShutdown); }

  // The parts that fail. Thread-safe, without locks.
  std::vector<api::ReadyPart> Failing() const;

 private:
  struct Part {
    Check check;
    std::atomic<bool> passed{false};
    std::atomic<MonotonicClock::rep> ended{0};  // the latest check
  };

  void Observe(Part& part);

  std::array<Part, static_cast<size_t>(api::ReadyPart::kCount)> parts_;
  const runtime::Cancellation cancellation_;
};

}  // namespace agent_graph::service

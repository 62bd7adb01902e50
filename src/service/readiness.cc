#include "service/readiness.h"

#include <utility>

#include "runtime/runtime.h"

namespace agent_graph::service {
void Readiness::Add(api::ReadyPart part, Check check) {
  parts_[static_cast<size_t>(part)].check = std::move(check);
}

void Readiness::Start(runtime::Runtime& runtime) {
  for (Part& part : parts_) {
    if (part.check) runtime.Spawn([this, &part] { Observe(part); });
  }
}

void Readiness::Observe(Part& part) {
  do {
    const bool passed = part.check(cancellation_).ok();
    part.passed.store(passed, std::memory_order_relaxed);
    part.ended.store(MonotonicClock::now().time_since_epoch().count(), std::memory_order_relaxed);
  } while (runtime::SleepFor(kInterval, &cancellation_).ok());
}

std::vector<api::ReadyPart> Readiness::Failing() const {
  std::vector<api::ReadyPart> failing;
  const MonotonicClock::duration now = MonotonicClock::now().time_since_epoch();
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (!part.check) continue;
    const MonotonicClock::duration ended(part.ended.load(std::memory_order_relaxed));
    const bool passed = part.passed.load(std::memory_order_relaxed);
    if (!passed || now - ended > kStale) failing.push_back(static_cast<api::ReadyPart>(i));
  }
  return failing;
}

}  // namespace agent_graph::service

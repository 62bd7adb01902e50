#include "service/run_totals.h"

#include <algorithm>

#include "runtime/runtime.h"

namespace agent_graph::service {

void RunTotalsWatch::Start(runtime::Runtime& runtime, state::Service& state) {
  runtime.Spawn([this, &state] { Watch(state); });
}

void RunTotalsWatch::Watch(state::Service& state) {
  do {
    const Result<state::RunTotals> totals = state.GetRunTotals(&cancellation_);
    if (!totals.ok()) continue;
    continued_.store(totals->continued, std::memory_order_relaxed);
    poisoned_.store(totals->poisoned, std::memory_order_relaxed);
    wait_micros_.store(static_cast<uint64_t>(std::max<int64_t>(totals->longest_wait_micros, 0)),
                       std::memory_order_relaxed);
  } while (runtime::SleepFor(kInterval, &cancellation_).ok());
}

}  // namespace agent_graph::service

#include "ngx_module/process/status_timer.h"

#include <algorithm>

#include "ngx_module/callback.h"
#include "ngx_module/process/process.h"
#include "ngx_module/request/request_context.h"

namespace agent_graph::nginx {
namespace {

constexpr ngx_msec_t kInterval = 250;
constexpr int64_t kMicrosPerMilli = 1000;
// The reported maximum covers the last one to two periods.
constexpr int64_t kPeriodMicros = 30 * 1'000'000;

struct LoopDelay {
  int64_t expected = 0;
  int64_t period_end = 0;
  int64_t worst = 0;
  int64_t worst_before = 0;

  void Measure(int64_t now) {
    if (now >= period_end) {
      worst_before = std::exchange(worst, 0);
      period_end = now + kPeriodMicros;
    }
    worst = std::max(worst, now - expected);
  }
};

ngx_event_t timer;
ngx_connection_t timer_owner;  // its descriptor number appears in nginx's debug messages
LoopDelay delay;

void Arm() {
  delay.expected = MonotonicMicros() + kInterval * kMicrosPerMilli;
  ngx_add_timer(&timer, kInterval);
}

void OnTimer(ngx_event_t*) noexcept {
  Guarded(ngx_cycle->log, [] {
    delay.Measure(MonotonicMicros());
    ReportStatus(static_cast<uint64_t>(std::max(delay.worst, delay.worst_before)));
    ReturnMemoryAfterBurst();
    RetireIfWornOut();
    Arm();
  });
}

}  // namespace

void StartStatusTimer(ngx_cycle_t* cycle) {
  timer_owner.fd = static_cast<ngx_socket_t>(-1);
  timer.handler = OnTimer;
  timer.data = &timer_owner;
  timer.log = cycle->log;
  timer.cancelable = 1;
  delay.period_end = MonotonicMicros() + kPeriodMicros;
  Arm();
}

}  // namespace agent_graph::nginx

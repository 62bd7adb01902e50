#include "ngx_module/worker/leaving_runs.h"

#include <chrono>

#include "ngx_module/callback.h"

namespace agent_graph::nginx {
namespace {

constexpr ngx_msec_t kCheckInterval = 100;

}  // namespace

void LeavingRuns::Begin(service::Service& service, const Times& times, ngx_log_t* log) {
  service.LeaveRuns(std::chrono::milliseconds(times.readers));
  service_ = &service;
  times_ = times;
  begun_ = ngx_current_msec;
  timer_.data = this;
  timer_.handler = OnTimer;
  timer_.log = log;
  timer_.cancelable = 0;
  Check();
}

void LeavingRuns::Stop() {
  if (timer_.timer_set) ngx_del_timer(&timer_);
}

void LeavingRuns::OnTimer(ngx_event_t* event) noexcept {
  Guarded(ngx_cycle->log, [&] { static_cast<LeavingRuns*>(event->data)->Check(); });
}

void LeavingRuns::Check() {
  const ngx_msec_t passed = ngx_current_msec - begun_;
  if (passed >= times_.cut) {
    service_->CutRuns();
  } else if (passed >= times_.hand_over) {
    service_->HandOverRuns();
  }
  if (service_->accepted_runs() == 0 || passed >= times_.exit) return;
  ngx_add_timer(&timer_, kCheckInterval);
}

}  // namespace agent_graph::nginx

// WorkerService: writes its values to the status row.
#include "ngx_module/worker/worker_service.h"

#include <algorithm>

namespace agent_graph::nginx {
namespace {

// Memory is returned only after bursts of at least this size: less is soon used again.
constexpr uint64_t kBurstBytesMin = 8 * 1024 * 1024;
constexpr ngx_msec_t kMemoryReturnInterval = 2000;

}  // namespace

void WorkerService::ReturnMemoryAfterBurst() {
  if (service_ == nullptr || ngx_exiting) return;
  bridge::WorkerMemory& memory = service_->outbox().memory();
  const uint64_t now = memory.in_memory();
  memory_peak_ = std::max(memory_peak_, memory.TakePeak());
  if (memory_peak_ >= now + kBurstBytesMin) {
    memory_peak_ = now;
    memory_returns_due_ = 2;  // memory is freed a moment after it is no longer counted
  }
  if (memory_returns_due_ == 0) return;
  if (ngx_current_msec - memory_returned_ < kMemoryReturnInterval) return;
  memory_returned_ = ngx_current_msec;
  --memory_returns_due_;
  service_->ReturnMemory();
}

void WorkerService::Report(StatusRow& row) {
  if (service_ == nullptr) return;
  const bridge::Outbox& outbox = service_->outbox();
  const bridge::Inbox& inbox = service_->inbox();
  row.draining = ngx_exiting != 0;
  row.Set(StatusGauge::kUp, 1);
  row.Set(StatusGauge::kInFlight, exchanges_.in_flight());
  row.Set(StatusGauge::kQueueWaiting, inbox.waiting());
  row.Set(StatusGauge::kQueueRunning, inbox.running());
  row.Set(StatusGauge::kOutboxItems, outbox.queued());
  row.Set(StatusGauge::kBufferedBytes, outbox.memory().buffered());
  row.Set(StatusGauge::kMemoryBytes, outbox.memory().in_memory());
  row.Set(StatusGauge::kMemoryWaiting, outbox.memory().waiting());
  row.counters.Set(StatusCounter::kCreditStalls, outbox.credit_stalls());
  row.counters.Set(StatusCounter::kDoorbells, outbox.doorbells());
  const models::ModelCounters& models = service_->models();
  row.counters.Set(StatusCounter::kModelReplies, models.replies);
  row.counters.Set(StatusCounter::kModelFailures, models.failures);
  row.counters.Set(StatusCounter::kModelMicros, models.micros);
  row.counters.Set(StatusCounter::kModelInputTokens, models.input_tokens);
  row.counters.Set(StatusCounter::kModelOutputTokens, models.output_tokens);
  model_calls_.Report(models.calls);
  tool_calls_.Report(service_->tools());
  if (const state::BackendCounters* state = service_->state()) {
    row.counters.Set(StatusCounter::kStateAnswers, state->answers);
    row.counters.Set(StatusCounter::kStateMicros, state->micros);
    state_operations_.Report(state->durations);
  }
  if (const limits::SharedRateCounters* rate = service_->shared_rate()) {
    row.counters.Set(StatusCounter::kRateAdmitted, rate->admitted);
    row.counters.Set(StatusCounter::kRateRefused, rate->refused);
    row.counters.Set(StatusCounter::kRateUnchecked, rate->unchecked);
  }
  const service::RunTotalsWatch& runs = service_->run_totals();
  row.Set(StatusGauge::kRunsContinued, runs.continued());
  row.Set(StatusGauge::kRunsPoisoned, runs.poisoned());
  row.Set(StatusGauge::kRunWaitMicros, runs.longest_wait_micros());
  row.Set(StatusGauge::kFollowers, service_->followers());
  row.counters.Set(StatusCounter::kUnknownEffects, service_->unknown_effects());
  const live::LiveCounters& live = service_->live();
  row.Set(StatusGauge::kLiveOpen, live.sessions);
  row.counters.Set(StatusCounter::kLiveSessions, live.sessions_total);
  row.counters.Set(StatusCounter::kLiveRefused, live.sessions_refused);
  row.counters.Set(StatusCounter::kLiveReconnects, live.reconnects);
  row.counters.Set(StatusCounter::kLiveFramesForwarded, live.frames_forwarded);
  row.counters.Set(StatusCounter::kLiveForwardMicros, live.forward_micros);
  row.counters.Set(StatusCounter::kLiveAudioForwarded, live.audio_forwarded);
  row.counters.Set(StatusCounter::kLiveAudioMicros, live.audio_micros);
  row.counters.Set(StatusCounter::kLiveFramesDropped, live.upstream_dropped + live_frames_lost_);
  row.counters.Set(StatusCounter::kLiveAudioDropped, live.downstream_dropped);
}

}  // namespace agent_graph::nginx

#include "service/service.h"

#include <utility>

#include "base/allocation_account.h"
#include "base/allocator.h"
#include "service/service_parts.h"

namespace agent_graph::service {
namespace {

// Maximum time in which a leaving worker exports its last traces.
constexpr std::chrono::milliseconds kExportTimeout{1000};

}  // namespace

Service::Service(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::Create(std::shared_ptr<const settings::Settings> settings,
                                                 ServiceOptions options) {
  AG_ASSIGN_OR_RETURN(
      Agent agent,
      BuildAgent(*settings, std::make_shared<process::Launcher>(options.state_directory)));
  auto implementation =
      std::make_unique<Implementation>(std::move(settings), std::move(options), std::move(agent));
  if (!implementation->outbox.ok()) {
    return Status(StatusCode::kUnavailable, "cannot create an eventfd for the engine's doorbell");
  }
  AG_RETURN_IF_ERROR(implementation->MakeGuard());
  AG_RETURN_IF_ERROR(implementation->MakeSharedRate());
  AG_RETURN_IF_ERROR(implementation->MakeUserTokens());
  AG_RETURN_IF_ERROR(implementation->MakeSharedSockets());
  return std::unique_ptr<Service>(new Service(std::move(implementation)));
}

Status Service::Start() {
  Implementation& service = *implementation_;
  if (service.options.state_in_process) {
    MutexLock lock(service.server_mutex);
    service.ServeState(state::StateOptions::kNewest);
  }
  if (service.state != nullptr) AG_RETURN_IF_ERROR(service.state->Start());
  AG_RETURN_IF_ERROR(service.runtime.Start());
  if (service.exporter != nullptr) service.exporter->Start(service.runtime);
  service.readiness.Start(service.runtime);
  if (service.shared_sockets != nullptr) service.shared_sockets->Start(service.runtime);
  if (service.checkpointer() != nullptr) {
    service.run_totals.Start(service.runtime, *service.checkpointer());
  }
  if (!AllocationsAreCounted()) {
    service.outbox.Log(
        bridge::LogLevel::kWarn,
        "limits.function_bytes_max bounds nothing: this process has another operator "
        "new than the module's");
  }
  return Status::Ok();
}

bridge::Inbox& Service::inbox() {
  return implementation_->inbox;
}

bridge::Outbox& Service::outbox() {
  return implementation_->outbox;
}

const live::LiveCounters& Service::live() const {
  return implementation_->live_counters;
}

const models::ModelCounters& Service::models() const {
  return implementation_->agent.models->counters();
}

const NamedDurations& Service::tools() const {
  return implementation_->tool_calls;
}

const RunTotalsWatch& Service::run_totals() const {
  return implementation_->run_totals;
}

uint64_t Service::unknown_effects() const {
  return implementation_->unknown_effects;
}

size_t Service::followers() const {
  return implementation_->context.followers->count();
}

const Readiness& Service::readiness() const {
  return implementation_->readiness;
}

const state::BackendCounters* Service::state() const {
  return implementation_->state == nullptr ? nullptr : &implementation_->state->counters();
}

const limits::SharedRateCounters* Service::shared_rate() const {
  return implementation_->shared_rate == nullptr ? nullptr
                                                 : &implementation_->shared_rate->counters();
}

size_t Service::lost_threads() const {
  return implementation_->runtime.lost_threads();
}

void Service::ReturnMemory() {
  runtime::Runtime& runtime = implementation_->runtime;
  runtime.Spawn([&runtime] { runtime.RunOnIoPool(ReturnFreeMemory); });
}

void Service::LeaveRuns(std::chrono::milliseconds readers_go_within) {
  if (implementation_->host == nullptr) return;
  implementation_->state->RefuseGrants();
  implementation_->host->Leave(readers_go_within);
}

void Service::HandOverRuns() {
  if (implementation_->host != nullptr) implementation_->host->HandOver();
}

void Service::CutRuns() {
  if (implementation_->host != nullptr) implementation_->host->HandOverNow();
}

size_t Service::accepted_runs() const {
  return implementation_->host == nullptr ? 0 : implementation_->host->count();
}

void Service::Drain() {
  implementation_->inbox.Close();
  LeaveRuns({});
}

Status Service::Stop(Deadline deadline) {
  Drain();
  CutRuns();
  implementation_->readiness.Close();
  implementation_->run_totals.Close();
  if (implementation_->shared_sockets != nullptr) implementation_->shared_sockets->Close();
  implementation_->guard->StopEvicting();
  implementation_->agent.catalog->Close(implementation_->runtime);
  if (implementation_->agent.embedder != nullptr) implementation_->agent.embedder->Close();
  if (implementation_->exporter != nullptr) {
    implementation_->exporter->Close(implementation_->runtime, kExportTimeout);
  }
  Status stopped = implementation_->runtime.Stop(deadline);
  std::unique_ptr<state::StateServer> server;
  {
    MutexLock lock(implementation_->server_mutex);
    implementation_->stopping = true;
    server = std::move(implementation_->state_server);
  }
  // A stuck run still holds its lease. The state server releases it when this process has ended.
  if (stopped.ok()) implementation_->guard->Close(deadline);
  if (stopped.ok() && implementation_->state != nullptr) implementation_->state->Stop();
  if (server != nullptr) server->Finish(deadline);
  return stopped;
}

}  // namespace agent_graph::service

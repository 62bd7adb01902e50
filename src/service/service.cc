#include "service/service.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "api/http/dispatch.h"
#include "api/routes.h"
#include "auth/guard.h"
#include "base/allocation_account.h"
#include "base/allocator.h"
#include "base/mutex.h"
#include "evals/directory.h"
#include "limits/shared_rate.h"
#include "limits/user_tokens.h"
#include "live/live_session.h"
#include "media/extractor.h"
#include "memory/memory_store.h"
#include "run/host/run_host.h"
#include "run/loop/runner.h"
#include "run/nodes/remote_tools.h"
#include "runtime/runtime.h"
#include "service/agent.h"
#include "service/file_storage.h"
#include "service/host_options.h"
#include "service/readiness_checks.h"
#include "service/referenced_files.h"
#include "service/runtime_options.h"
#include "service/state_server.h"
#include "state/factory/factory.h"
#include "telemetry/exporter.h"

namespace agent_graph::service {
namespace {

// Maximum time in which a leaving worker exports its last traces.
constexpr std::chrono::milliseconds kExportTimeout{1000};
bridge::LogLevel ToLogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return bridge::LogLevel::kDebug;
    case LogLevel::kInfo:
      return bridge::LogLevel::kInfo;
    case LogLevel::kWarning:
      return bridge::LogLevel::kWarn;
    case LogLevel::kError:
      return bridge::LogLevel::kError;
  }
  return bridge::LogLevel::kError;
}

}  // namespace

// Members are in order of construction; later members use earlier ones.
struct Service::Implementation {
  Implementation(std::shared_ptr<const settings::Settings> settings_in, ServiceOptions options_in,
                 Agent agent_in)
      : settings(std::move(settings_in)),
        options(std::move(options_in)),
        agent(std::move(agent_in)),
        ids(MakeIds()),
        outbox(settings->limits.buffered_bytes_max),
        runtime(ToRuntimeOptions(*settings, options, outbox)),
        state(MakeState()),
        store(MakeStore()),
        files(MakeFileStorage(*settings, options.state_directory,
                              options.state_in_process ? getpid() : getppid(), runtime)),
        referenced_files(*files, runtime, !settings->media.require_owner),
        extractor(ExtractorProgram(), std::make_shared<process::Launcher>(options.state_directory),
                  [this](const std::string& line) { outbox.Log(bridge::LogLevel::kError, line); }),
        reports(settings->evaluation.reports_directory),
        exporter(MakeExporter()),
        remote_tools(agent.remote_tools, checkpointer(), options.nginx, ToLog()),
        runner(agent.graph, checkpointer(), runtime, MakeRunnerOptions()),
        host(MakeHost()),
        inbox(runtime, {settings->limits.runs_max, options.queue},
              [this](const bridge::ExchangePtr& exchange) { api::Dispatch(exchange, context); }) {
    context.routes = api::Routes();
    context.settings = settings.get();
    context.runner = &runner;
    context.host = host.get();
    context.state = checkpointer();
    context.memory = store.get();
    context.graph = agent.graph;
    context.catalog = agent.catalog.get();
    context.remote_tools = &remote_tools;
    context.runtime = &runtime;
    context.reports = &reports;
    context.files = files.get();
    context.extractor = &extractor;
    context.log = &outbox;
    live.runner = &runner;
    live.state = checkpointer();
    live.graph = agent.graph.get();
    live.models = agent.realtime.get();
    live.counters = &live_counters;
    live.sessions_max = settings->limits.live_sessions_max;
    live.buffered_bytes_max = settings->limits.buffered_bytes_max;
    context.live = &live;
    context.ids = ids.get();
    agent.catalog->LogTo(ToLog());
    AddReadinessChecks(readiness, state.get(), *agent.models, runtime, options.state_directory);
  }

  run::LogFunction ToLog() {
    return [this](LogLevel level, const std::string& line) { outbox.Log(ToLogLevel(level), line); };
  }

  std::function<void(const std::string&)> ToWarnings() {
    return [this](const std::string& line) { outbox.Log(bridge::LogLevel::kWarn, line); };
  }

  Status MakeGuard() {
    auth::GuardOptions guard_options;
    if (checkpointer() != nullptr) {
      guard_options.read_thread = [this](const std::string& thread_id) {
        return state->GetThread(state::Scope::All(), thread_id);
      };
    }
    guard_options.runtime = &runtime;
    guard_options.warn = ToWarnings();
    guard_options.tolerate_lost_keys = true;
    guard_options.bearer_protocols = settings->websocket.bearer_protocols;
    AG_ASSIGN_OR_RETURN(guard, auth::Guard::Create(*settings, std::move(guard_options)));
    context.guard = guard.get();
    return Status::Ok();
  }

  Status MakeSharedRate() {
    if (!settings->rate_limit) return Status::Ok();
    AG_ASSIGN_OR_RETURN(shared_rate,
                        limits::SharedRate::Create(*settings->rate_limit, ToWarnings()));
    context.shared_rate = shared_rate.get();
    return Status::Ok();
  }

  Status MakeUserTokens() {
    if (!settings->token_limit) return Status::Ok();
    AG_ASSIGN_OR_RETURN(user_tokens, limits::UserTokens::Create(*settings->token_limit,
                                                                options.token_table, ToWarnings()));
    return Status::Ok();
  }

  state::StateOptions StateOptionsOf() {
    state::StateOptions state_options =
        MakeStateOptions(*settings, options.state_directory, &outbox);
    state_options.root_serves = options.state_user;
    return state_options;
  }

  std::unique_ptr<state::Backend> MakeState() {
    if (!NeedsState(*settings)) return nullptr;
    state::StateOptions client = StateOptionsOf();
    client.on_server_missing = [this] { StartFallback(); };
    client.on_thread_deleted = [this](const std::string& thread_id) {
      runtime.Spawn([this, thread_id] { guard->Forget(thread_id); });
    };
    // The backend starts after the host was made. Before the runtime starts, runs wait in its
    // queue.
    if (keeps_threads()) {
      client.on_run_granted = [this](state::GrantedRun granted) {
        host->Execute(std::move(granted));
      };
      client.on_run_watched = [this](const state::RunWatched& watched) { host->Publish(watched); };
    }
    return state::MakeBackend(client);
  }

  std::unique_ptr<run::RunHost> MakeHost() {
    if (checkpointer() == nullptr) return nullptr;
    run::RunHostOptions host_options = HostOptions(*settings, outbox.memory());
    host_options.log = ToLog();
    host_options.authorize = [this](const run::RunRequest& request,
                                    const runtime::Cancellation& cancellation) {
      return AuthorizeAgain(*guard, request, cancellation);
    };
    return std::make_unique<run::RunHost>(runner, *state, runtime, std::move(host_options));
  }

  bool keeps_threads() const {
    return settings->checkpointer.type != settings::CheckpointerSettings::Type::kNone;
  }

  // Null when conversations are not kept. The memory store may still use the backend.
  state::Service* checkpointer() const { return keeps_threads() ? state.get() : nullptr; }

  std::unique_ptr<memory::MemoryStore> MakeStore() {
    if (settings->store.type == settings::StoreSettings::Type::kNone) return nullptr;
    return std::make_unique<memory::MemoryStore>(*state, *agent.embedder);
  }

  run::Runner::Options MakeRunnerOptions() {
    run::Runner::Options runner_options;
    runner_options.window_max = settings->window_max;
    runner_options.enqueue_if_busy = settings->busy_thread.enqueue;
    runner_options.queue_max = settings->busy_thread.queue_max;
    runner_options.busy_wait_max = std::chrono::milliseconds(settings->busy_thread.wait_ms_max);
    run::RunServices& services = runner_options.services;
    services.find_model = [this](const std::string& name) { return agent.models->Find(name); };
    SetRunLimits(*settings, user_tokens, services);
    services.catalog = agent.catalog.get();
    runner_options.remote_tools = &remote_tools;
    services.memories = store.get();
    services.ids = ids;
    services.name_thread = agent.name_thread;
    if (exporter != nullptr) {
      services.on_finished = [this](run::RunRecord&& record) {
        exporter->Offer(std::move(record));
      };
    }
    services.load_files = [this](const run::RunEnvironment& environment,
                                 std::vector<Message>& messages) {
      return referenced_files.Load(environment, messages);
    };
    services.log = ToLog();
    services.tool_calls = &tool_calls;
    services.unknown_effects = &unknown_effects;
    services.ask_about_lost_calls = settings->recovery.asks_about_unknown_effects;
    services.run_bytes_max = settings->limits.run_bytes_max;
    services.show_exception_text = settings->mode == settings::Mode::kDevelopment;
    return runner_options;
  }

  std::shared_ptr<const IdGenerator> MakeIds() const {
    IdOptions id_options = settings->ids;
    id_options.worker = options.worker;
    return std::make_shared<const IdGenerator>(id_options);
  }

  std::unique_ptr<telemetry::Exporter> MakeExporter() {
    if (!settings->observability.enabled) return nullptr;
    return std::make_unique<telemetry::Exporter>(*settings, ToWarnings());
  }

  // No process serves the state: this worker serves it until the helper process is back.
  void StartFallback() {
    MutexLock lock(server_mutex);
    if (state_server != nullptr || stopping) return;
    outbox.Log(bridge::LogLevel::kWarn,
               "no state server answers, this worker serves the state as a fallback");
    ServeState(kFallbackGeneration);
  }

  void ServeState(uint64_t generation) AG_REQUIRES(server_mutex) {
    auto started = StartStateServer(*settings, StateOptionsOf(), generation);
    if (started.ok()) {
      state_server = std::move(started).value();
    } else {
      outbox.Log(bridge::LogLevel::kCritical, started.status().ToString());
    }
  }

  const std::shared_ptr<const settings::Settings> settings;
  const ServiceOptions options;
  const Agent agent;
  const std::shared_ptr<const IdGenerator> ids;
  NamedDurations tool_calls;
  std::atomic<uint64_t> unknown_effects{0};
  RunTotalsWatch run_totals;
  Readiness readiness;
  bridge::Outbox outbox;
  runtime::Runtime runtime;
  std::unique_ptr<state::Backend> state;       // null: no state is kept
  std::unique_ptr<memory::MemoryStore> store;  // null: no memory store
  std::unique_ptr<auth::Guard> guard;
  std::unique_ptr<media::Storage> files;
  ReferencedFiles referenced_files;
  media::Extractor extractor;
  evals::ReportDirectory reports;
  std::unique_ptr<telemetry::Exporter> exporter;  // null: runs are not exported
  run::RemoteTools remote_tools;
  std::unique_ptr<limits::SharedRate> shared_rate;
  std::unique_ptr<limits::UserTokens> user_tokens;  // null: no limit
  run::Runner runner;
  std::unique_ptr<run::RunHost> host;  // null: runs are not kept, so none is accepted
  live::LiveCounters live_counters;
  live::LiveContext live;
  api::ApiContext context;
  bridge::Inbox inbox;

  Mutex server_mutex;
  std::unique_ptr<state::StateServer> state_server
      AG_GUARDED_BY(server_mutex);  // when this process plays the role
  bool stopping AG_GUARDED_BY(server_mutex) = false;
};

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
    return Status(StatusCode::kUnavailable, "no eventfd for the engine's doorbell");
  }
  AG_RETURN_IF_ERROR(implementation->MakeGuard());
  AG_RETURN_IF_ERROR(implementation->MakeSharedRate());
  AG_RETURN_IF_ERROR(implementation->MakeUserTokens());
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

size_t Service::written_off_threads() const {
  return implementation_->runtime.written_off_threads();
}

void Service::ReturnMemory() {
  runtime::Runtime& runtime = implementation_->runtime;
  runtime.Spawn([&runtime] { runtime.RunOnIoPool(ReturnFreeMemory); });
}

void Service::LeaveRuns() {
  if (implementation_->host == nullptr) return;
  implementation_->state->RefuseGrants();
  implementation_->host->Leave();
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
  LeaveRuns();
}

Status Service::Stop(Deadline deadline) {
  Drain();
  CutRuns();
  implementation_->readiness.Close();
  implementation_->run_totals.Close();
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

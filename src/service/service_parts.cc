#include "service/service_parts.h"

#include <unistd.h>

#include <utility>

#include "api/http/dispatch.h"
#include "api/resources/run_request.h"
#include "api/routes.h"
#include "service/file_storage.h"
#include "service/host_options.h"
#include "service/readiness_checks.h"
#include "service/runtime_options.h"
#include "service/state_server.h"
#include "state/factory/factory.h"

namespace agent_graph::service {
namespace {

// The windows of a worker's latest runs take at most this part of its bound on memory.
constexpr uint64_t kWindowParts = 16;

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

Service::Implementation::Implementation(std::shared_ptr<const settings::Settings> settings_in,
                                        ServiceOptions options_in, Agent agent_in)
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
      remote_tools(agent.remote_tools, checkpointer(), RemoteToolGeneration(), ToLog()),
      windows(settings->limits.buffered_bytes_max / kWindowParts,
              [this](int64_t bytes) { outbox.memory().CountKept(bytes); }),
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
  outbox.memory().SetGiveUp([this] { GiveUpWindows(); });
  agent.catalog->LogTo(ToLog());
  AddReadinessChecks(readiness, state.get(), *agent.models, runtime, options.state_directory);
}

// May be called by nginx's thread, which must not free thousands of messages itself.
void Service::Implementation::GiveUpWindows() {
  if (giving_up.exchange(true)) return;
  runtime.Spawn([this] {
    windows.Clear();
    giving_up = false;
  });
}

run::LogFunction Service::Implementation::ToLog() {
  return [this](LogLevel level, const std::string& line) { outbox.Log(ToLogLevel(level), line); };
}

std::function<void(const std::string&)> Service::Implementation::ToWarnings() {
  return [this](const std::string& line) { outbox.Log(bridge::LogLevel::kWarn, line); };
}

Status Service::Implementation::MakeGuard() {
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

Status Service::Implementation::MakeSharedRate() {
  if (!settings->rate_limit) return Status::Ok();
  AG_ASSIGN_OR_RETURN(shared_rate, limits::SharedRate::Create(*settings->rate_limit, ToWarnings()));
  context.shared_rate = shared_rate.get();
  return Status::Ok();
}

Status Service::Implementation::MakeUserTokens() {
  if (!settings->token_limit) return Status::Ok();
  AG_ASSIGN_OR_RETURN(user_tokens, limits::UserTokens::Create(*settings->token_limit,
                                                              options.token_table, ToWarnings()));
  return Status::Ok();
}

Status Service::Implementation::MakeSharedSockets() {
  AG_ASSIGN_OR_RETURN(shared_sockets,
                      limits::SharedPlaces::Create(settings->websocket.total, ToWarnings()));
  context.shared_sockets = shared_sockets.get();
  return Status::Ok();
}

state::StateOptions Service::Implementation::StateOptionsOf() {
  state::StateOptions state_options = MakeStateOptions(*settings, options.state_directory, &outbox);
  state_options.root_serves = options.state_user;
  return state_options;
}

std::unique_ptr<state::Backend> Service::Implementation::MakeState() {
  if (!NeedsState(*settings)) return nullptr;
  state::StateOptions client = StateOptionsOf();
  client.on_server_missing = [this] { StartFallback(); };
  client.on_thread_deleted = [this](const std::string& thread_id) {
    runtime.Spawn([this, thread_id] {
      guard->Forget(thread_id);
      windows.Forget(thread_id);
    });
  };
  // The backend starts after the host was made. Before the runtime starts, runs wait in its
  // queue.
  if (keeps_threads()) {
    client.on_run_granted = [this](state::GrantedRun granted) {
      host->Execute(std::move(granted));
    };
    client.on_run_cancelled = [this](const std::string& thread_id, const std::string& run_id) {
      host->Cancel(thread_id, run_id);
    };
    client.on_run_watched = [this](const state::RunWatched& watched) {
      host->local().Publish(watched);
    };
  }
  return state::MakeBackend(client);
}

std::unique_ptr<run::RunHost> Service::Implementation::MakeHost() {
  if (checkpointer() == nullptr) return nullptr;
  run::RunHostOptions host_options = HostOptions(*settings, outbox.memory());
  host_options.on_ended = [this](const run::RunOutcome& outcome, runtime::CancelReason reason) {
    outbox.Push({{}, bridge::RunOver{api::CountedAs(outcome, reason)}});
  };
  host_options.log = ToLog();
  host_options.authorize = [this](const run::RunRequest& request,
                                  const runtime::Cancellation& cancellation) {
    return AuthorizeAgain(*guard, request, cancellation);
  };
  return std::make_unique<run::RunHost>(runner, *state, runtime, std::move(host_options));
}

bool Service::Implementation::keeps_threads() const {
  return settings->checkpointer.type != settings::CheckpointerSettings::Type::kNone;
}

std::unique_ptr<memory::MemoryStore> Service::Implementation::MakeStore() {
  if (settings->store.type == settings::StoreSettings::Type::kNone) return nullptr;
  return std::make_unique<memory::MemoryStore>(*state, *agent.embedder);
}

run::Runner::Options Service::Implementation::MakeRunnerOptions() {
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
  services.windows = &windows;
  services.name_thread = agent.name_thread;
  if (exporter != nullptr) {
    services.on_finished = [this](run::RunRecord&& record) { exporter->Offer(std::move(record)); };
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

std::shared_ptr<const IdGenerator> Service::Implementation::MakeIds() const {
  IdOptions id_options = settings->ids;
  id_options.worker = options.worker;
  return std::make_shared<const IdGenerator>(id_options);
}

// Hosts that share a database share the remote tools. The database removes them when the first of
// these hosts starts.
std::string Service::Implementation::RemoteToolGeneration() const {
  const bool shared =
      settings->checkpointer.type == settings::CheckpointerSettings::Type::kPostgres;
  return shared ? "all hosts" : options.nginx;
}

std::unique_ptr<telemetry::Exporter> Service::Implementation::MakeExporter() {
  if (!settings->observability.enabled) return nullptr;
  return std::make_unique<telemetry::Exporter>(*settings, ToWarnings());
}

void Service::Implementation::StartFallback() {
  MutexLock lock(server_mutex);
  if (state_server != nullptr || stopping) return;
  // While PostgreSQL is away, the state server answers no worker, but it stays the state server.
  const bool postgres =
      settings->checkpointer.type == settings::CheckpointerSettings::Type::kPostgres;
  outbox.Log(bridge::LogLevel::kWarn,
             postgres ? "no state server answers: its PostgreSQL is away, and its line \"is not "
                        "available\" says why, or it has ended, and this worker serves the state "
                        "as a fallback"
                      : "no state server answers, this worker serves the state as a fallback");
  ServeState(kFallbackGeneration);
}

void Service::Implementation::ServeState(uint64_t generation) {
  auto started = StartStateServer(*settings, StateOptionsOf(), generation);
  if (started.ok()) {
    state_server = std::move(started).value();
  } else {
    outbox.Log(bridge::LogLevel::kCritical, started.status().ToString());
  }
}

}  // namespace agent_graph::service

// The parts of a worker's service: how each is made, and in which order.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "api/http/context.h"
#include "auth/guard.h"
#include "base/mutex.h"
#include "bridge/inbox.h"
#include "bridge/outbox.h"
#include "evals/directory.h"
#include "limits/shared_places.h"
#include "limits/shared_rate.h"
#include "limits/user_tokens.h"
#include "live/live_session.h"
#include "media/extractor.h"
#include "media/storage.h"
#include "memory/memory_store.h"
#include "run/context/window_cache.h"
#include "run/host/run_host.h"
#include "run/loop/runner.h"
#include "run/nodes/remote_tools.h"
#include "runtime/runtime.h"
#include "service/agent.h"
#include "service/referenced_files.h"
#include "service/service.h"
#include "state/backend.h"
#include "state/options.h"
#include "state/state_server.h"
#include "telemetry/exporter.h"

namespace agent_graph::service {

// Members are in order of construction; later members use earlier ones.
struct Service::Implementation {
  Implementation(std::shared_ptr<const settings::Settings> settings_in, ServiceOptions options_in,
                 Agent agent_in);

  void GiveUpWindows();
  run::LogFunction ToLog();
  std::function<void(const std::string&)> ToWarnings();
  Status MakeGuard();
  Status MakeSharedRate();
  Status MakeUserTokens();
  Status MakeSharedSockets();
  state::StateOptions StateOptionsOf();
  std::unique_ptr<state::Backend> MakeState();
  std::unique_ptr<run::RunHost> MakeHost();
  bool keeps_threads() const;

  // Null when conversations are not kept. The memory store may still use the backend.
  state::Service* checkpointer() const { return keeps_threads() ? state.get() : nullptr; }

  std::unique_ptr<memory::MemoryStore> MakeStore();
  run::Runner::Options MakeRunnerOptions();
  std::shared_ptr<const IdGenerator> MakeIds() const;
  std::unique_ptr<telemetry::Exporter> MakeExporter();
  std::string RemoteToolGeneration() const;

  // No process serves the state: this worker serves it until the helper process is back.
  void StartFallback();
  void ServeState(uint64_t generation) AG_REQUIRES(server_mutex);

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
  run::WindowCache windows;
  std::atomic<bool> giving_up{false};
  std::unique_ptr<limits::SharedRate> shared_rate;
  std::unique_ptr<limits::UserTokens> user_tokens;       // null: no limit
  std::unique_ptr<limits::SharedPlaces> shared_sockets;  // null: this host counts for itself
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

}  // namespace agent_graph::service

#include "service/state_server.h"

#include <utility>

#include "service/service.h"
#include "settings/state_options.h"
#include "state/factory/factory.h"

namespace agent_graph::service {
namespace {

using settings::CheckpointerSettings;
using settings::StoreSettings;

bridge::LogLevel ToLogLevel(state::LogLevel level) {
  switch (level) {
    case state::LogLevel::kNotice:
      return bridge::LogLevel::kNotice;
    case state::LogLevel::kError:
      return bridge::LogLevel::kError;
    case state::LogLevel::kAlert:
      break;
  }
  return bridge::LogLevel::kCritical;
}

}  // namespace

bool NeedsState(const settings::Settings& settings) {
  return settings.checkpointer.type != CheckpointerSettings::Type::kNone ||
         settings.store.type != StoreSettings::Type::kNone;
}

state::StateOptions MakeStateOptions(const settings::Settings& settings,
                                     const std::string& state_directory, bridge::Outbox* log) {
  state::StateOptions options = settings::StateOptionsOf(settings, state_directory);
  if (log != nullptr) {
    options.log = [log](state::LogLevel level, const std::string& text) {
      log->Log(ToLogLevel(level), text);
    };
  }
  return options;
}

Result<std::unique_ptr<state::StateServer>> StartStateServer(const settings::Settings& settings,
                                                             state::StateOptions options,
                                                             uint64_t generation) {
  if (!NeedsState(settings)) return std::unique_ptr<state::StateServer>();
  options.generation = generation;
  options.creates = generation != kFallbackGeneration;
  return state::StartStateServer(options);
}

struct StateServer::Implementation {
  std::shared_ptr<const state::DatabaseStatus> database;  // may be null
  std::unique_ptr<state::StateServer> server;
};

StateServer::StateServer(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
StateServer::~StateServer() = default;

std::unique_ptr<StateServer> StateServer::Start(const settings::Settings& settings,
                                                const std::string& state_directory,
                                                bridge::Outbox* log) {
  const state::StateOptions options = MakeStateOptions(settings, state_directory, log);
  auto started = StartStateServer(settings, options, state::StateOptions::kNewest);
  if (!started.ok()) {
    if (log != nullptr) log->Log(bridge::LogLevel::kCritical, started.status().ToString());
    return nullptr;
  }
  if (*started == nullptr) return nullptr;
  auto implementation = std::make_unique<Implementation>();
  implementation->server = std::move(started).value();
  if (settings.checkpointer.type == CheckpointerSettings::Type::kPostgres) {
    implementation->database = options.database_status;
  }
  return std::unique_ptr<StateServer>(new StateServer(std::move(implementation)));
}

const state::DatabaseStatus* StateServer::database() const {
  return implementation_->database.get();
}

void StateServer::Finish(Deadline deadline) {
  implementation_->server->Finish(deadline);
}

}  // namespace agent_graph::service

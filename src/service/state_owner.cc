#include "service/state_owner.h"

#include <utility>

#include "service/service.h"

namespace agent_graph::service {
namespace {

using settings::CheckpointerSettings;
using settings::StoreSettings;

state::SyncLevel ToSyncLevel(CheckpointerSettings::Sync sync) {
  switch (sync) {
    case CheckpointerSettings::Sync::kRun:
      return state::SyncLevel::kRun;
    case CheckpointerSettings::Sync::kAlways:
      return state::SyncLevel::kAlways;
    case CheckpointerSettings::Sync::kNone:
      return state::SyncLevel::kNone;
  }
  return state::SyncLevel::kRun;
}

bridge::LogLevel ToLogLevel(state::OwnerOptions::LogLevel level) {
  return level == state::OwnerOptions::LogLevel::kNotice ? bridge::LogLevel::kNotice
                                                         : bridge::LogLevel::kCritical;
}

}  // namespace

bool NeedsState(const settings::Settings& settings) {
  return settings.checkpointer.type != CheckpointerSettings::Type::kNone ||
         settings.store.type != StoreSettings::Type::kNone;
}

Result<std::unique_ptr<state::Owner>> StartOwner(const settings::Settings& settings,
                                                 const std::string& state_directory,
                                                 uid_t root_serves, uint64_t generation,
                                                 bridge::Outbox* log) {
  if (!NeedsState(settings)) return std::unique_ptr<state::Owner>();
  const bool in_memory = settings.checkpointer.type == CheckpointerSettings::Type::kMemory ||
                         settings.store.type == StoreSettings::Type::kMemory;
  state::OwnerOptions options;
  options.directory = state_directory;
  options.root_serves = root_serves;
  options.type =
      in_memory ? state::OwnerOptions::Type::kMemory : state::OwnerOptions::Type::kLevelDb;
  options.sync = ToSyncLevel(settings.checkpointer.sync);
  options.memory_index_bytes_max = settings.store.index_bytes_max;
  options.thread_ttl = std::chrono::seconds(settings.checkpointer.ttl_seconds);
  options.generation = generation;
  options.creates = generation != kStandInGeneration;
  if (log != nullptr) {
    options.log = [log](state::OwnerOptions::LogLevel level, const std::string& text) {
      log->Log(ToLogLevel(level), text);
    };
  }
  return state::Owner::Start(std::move(options));
}

struct StateOwner::Implementation {
  std::unique_ptr<state::Owner> owner;
};

StateOwner::StateOwner(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
StateOwner::~StateOwner() = default;

std::unique_ptr<StateOwner> StateOwner::Start(const settings::Settings& settings,
                                              const std::string& state_directory,
                                              bridge::Outbox* log) {
  auto owner = service::StartOwner(settings, state_directory, state::StateDirectory::kNobodyElse,
                                   state::OwnerOptions::kNewest, log);
  if (!owner.ok()) {
    if (log != nullptr) log->Log(bridge::LogLevel::kCritical, owner.status().ToString());
    return nullptr;
  }
  if (*owner == nullptr) return nullptr;
  auto implementation = std::make_unique<Implementation>();
  implementation->owner = std::move(owner).value();
  return std::unique_ptr<StateOwner>(new StateOwner(std::move(implementation)));
}

void StateOwner::Finish(Deadline deadline) {
  implementation_->owner->Finish(deadline);
}

}  // namespace agent_graph::service

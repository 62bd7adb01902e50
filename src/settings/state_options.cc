#include "settings/state_options.h"

#include <chrono>

namespace agent_graph::settings {
namespace {

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

const char* StateTypeOf(const Settings& settings) {
  if (settings.checkpointer.type == CheckpointerSettings::Type::kPostgres) return "postgres";
  const bool in_memory = settings.checkpointer.type == CheckpointerSettings::Type::kMemory ||
                         settings.store.type == StoreSettings::Type::kMemory;
  return in_memory ? "memory" : "leveldb";
}

}  // namespace

state::StateOptions StateOptionsOf(const Settings& settings, const std::string& state_directory) {
  state::StateOptions options;
  options.type = StateTypeOf(settings);
  options.database_url = settings.checkpointer.url;
  options.directory = state_directory;
  options.sync = ToSyncLevel(settings.checkpointer.sync);
  options.memory_index_bytes_max = settings.store.index_bytes_max;
  options.indexed_metadata = settings.threads.indexed_metadata;
  options.thread_ttl = std::chrono::seconds(settings.checkpointer.ttl_seconds);
  options.log_kept = std::chrono::seconds(settings.checkpointer.log_kept_seconds);
  options.log_bytes_max = settings.checkpointer.log_bytes_max;
  return options;
}

}  // namespace agent_graph::settings

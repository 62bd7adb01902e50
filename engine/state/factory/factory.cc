#include "state/factory/factory.h"

#include <string_view>

#include "state/calls/caller.h"
#include "state/gateway/client/link.h"
#include "state/gateway/role.h"
#include "state/leveldb/storage.h"
#include "state/postgres/storage.h"

namespace agent_graph::state {
namespace {

struct BackendType {
  std::string_view name;
  std::unique_ptr<Storage> (*make_storage)(const StateOptions& options);
  // Null: closed data cannot be maintained.
  std::unique_ptr<ClosedState> (*make_closed)(const std::string& database);
};

constexpr BackendType kBackendTypes[] = {
    {.name = "leveldb", .make_storage = MakeLevelDbStorage, .make_closed = MakeClosedLevelDb},
    {.name = "memory", .make_storage = MakeMemoryStorage, .make_closed = nullptr},
    {.name = "postgres", .make_storage = MakePostgresStorage, .make_closed = nullptr},
};

const BackendType* FindType(std::string_view name) {
  for (const BackendType& type : kBackendTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> BackendTypes() {
  std::vector<std::string> names;
  for (const BackendType& type : kBackendTypes) names.emplace_back(type.name);
  return names;
}

std::unique_ptr<Backend> MakeBackend(const StateOptions& options) {
  return std::make_unique<Caller>(std::make_shared<Link>(options), options.type);
}

Result<std::unique_ptr<StateServer>> StartStateServer(const StateOptions& options) {
  std::unique_ptr<Storage> storage = MakeStorage(options);
  if (storage == nullptr) {
    return Status(StatusCode::kInvalidArgument, "there is no state of type " + options.type);
  }
  return StartRole(options, std::move(storage));
}

std::unique_ptr<Storage> MakeStorage(const StateOptions& options) {
  const BackendType* type = FindType(options.type);
  return type == nullptr ? nullptr : type->make_storage(options);
}

std::unique_ptr<ClosedState> MakeClosedState(const std::string& database,
                                             const std::string& type_name) {
  const BackendType* type = FindType(type_name);
  if (type == nullptr || type->make_closed == nullptr) return nullptr;
  return type->make_closed(database);
}

}  // namespace agent_graph::state

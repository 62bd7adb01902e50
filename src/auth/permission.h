// Permissions: what a route does with which resource. Their names appear in scopes
// ("graph:invoke"), in error texts and in the calls of custom authorization backends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace agent_graph::auth {

enum class Resource : uint8_t { kNone, kGraph, kCheckpointer, kStore, kFiles, kConfig };
enum class Action : uint8_t {
  kNone,
  kInvoke,
  kStream,
  kStop,
  kFix,
  kSetup,
  kRead,
  kWrite,
  kDelete,
  kUpload,
};

// The permission that a route requires. kNone: the route has no guard.
struct Permission {
  Resource resource = Resource::kNone;
  Action action = Action::kNone;

  bool operator==(const Permission&) const = default;
};

// Returns the name on the wire; empty for kNone. Thread-safe, like all functions here.
std::string_view NameOf(Resource resource);
std::string_view NameOf(Action action);
// Returns the scope that grants the permission: "graph:invoke".
std::string ScopeOf(const Permission& permission);

// True if the ids of requests for this resource are ids of conversation threads.
constexpr bool IsThreadResource(Resource resource) {
  return resource == Resource::kGraph || resource == Resource::kCheckpointer;
}

}  // namespace agent_graph::auth

#include "auth/permission.h"

namespace agent_graph::auth {

std::string_view NameOf(Resource resource) {
  switch (resource) {
    case Resource::kGraph:
      return "graph";
    case Resource::kCheckpointer:
      return "checkpointer";
    case Resource::kStore:
      return "store";
    case Resource::kFiles:
      return "files";
    case Resource::kConfig:
      return "config";
    case Resource::kNone:
      break;
  }
  return "";
}

std::string_view NameOf(Action action) {
  switch (action) {
    case Action::kInvoke:
      return "invoke";
    case Action::kStream:
      return "stream";
    case Action::kStop:
      return "stop";
    case Action::kFix:
      return "fix";
    case Action::kSetup:
      return "setup";
    case Action::kRead:
      return "read";
    case Action::kWrite:
      return "write";
    case Action::kDelete:
      return "delete";
    case Action::kUpload:
      return "upload";
    case Action::kNone:
      break;
  }
  return "";
}

std::string ScopeOf(const Permission& permission) {
  std::string scope(NameOf(permission.resource));
  scope += ':';
  scope += NameOf(permission.action);
  return scope;
}

}  // namespace agent_graph::auth

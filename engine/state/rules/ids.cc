#include "state/rules/ids.h"

#include "state/limits.h"

namespace agent_graph::state {

Status CheckId(const std::string& id, const char* what) {
  if (!id.empty() && id.size() <= kIdBytesMax) return Status::Ok();
  return Status(StatusCode::kInvalidArgument,
                std::string(what) + " must have 1 to " + std::to_string(kIdBytesMax) + " bytes");
}

Status CheckUser(const std::string& user_id) {
  return user_id.empty() ? Status::Ok() : CheckId(user_id, "user_id");
}

}  // namespace agent_graph::state

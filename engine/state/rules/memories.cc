#include "state/rules/memories.h"

#include <algorithm>

#include "state/rules/scope.h"
#include "state/rules/stored_json.h"

namespace agent_graph::state {

bool MayTouch(const Scope& scope, const std::string& agent_id, const MemoryRecord& record) {
  if (!agent_id.empty() && record.agent_id != agent_id) return false;
  return InScope(scope, record.owner);
}

size_t TextBytes(const MemoryRecord& record) {
  return record.id.size() + record.owner.size() + record.agent_id.size() + record.thread_id.size() +
         record.memory_type.size() + record.category.size() + record.content.size() +
         record.metadata_json.size() + record.message_json.size();
}

Status ApplyUpdate(const UpdateMemoryRequest& update, int64_t micros, MemoryRecord& record) {
  AG_ASSIGN_OR_RETURN(record.metadata_json,
                      MergeJsonObjects(update.replace_metadata ? "{}" : record.metadata_json,
                                       update.metadata_json, "metadata"));
  record.content = update.content;
  record.message_json = update.message_json;
  if (update.category) record.category = *update.category;
  record.updated_micros = std::max(micros, record.updated_micros);
  return Status::Ok();
}

}  // namespace agent_graph::state

// Rules about memories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "state/memories.h"

namespace agent_graph::state {

// True if a call with this scope and agent may access the record.
bool MayTouch(const Scope& scope, const std::string& agent_id, const MemoryRecord& record);

// Bytes that the record's texts take in a reply.
size_t TextBytes(const MemoryRecord& record);

// Applies an update, whose vector the caller stores. kInvalidArgument if the metadata cannot be
// merged.
Status ApplyUpdate(const UpdateMemoryRequest& update, int64_t micros, MemoryRecord& record);

}  // namespace agent_graph::state

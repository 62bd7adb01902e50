// What the memory routes read from a body that was checked against its table.
#pragma once

#include <optional>
#include <string>

#include "agent_graph/message.h"
#include "api/context.h"
#include "api/fields.h"
#include "memory/memory_store.h"

namespace agent_graph::api {

// `config` and `options`. The user of `config` counts only for a caller who may see all users'
// rows; everybody else has their own memories, whatever it says.
memory::Access ReadMemoryAccess(const HandlerContext& context, Problems& problems);

// `content`: text, or a message with its text.
struct MemoryContent {
  std::string text;                // blank only if there is a message
  std::optional<Message> message;  // absent: `content` was a string
};
MemoryContent ReadMemoryContent(const HandlerContext& context, Problems& problems);
// The message as it is stored: blocks that refer to a file of the caller get its type, name and
// size, and the files that a message holds itself are treated like those of a thread's messages.
// Empty without a message. May suspend.
struct StoredMemoryMessage {
  std::string json;
  std::optional<ErrorInfo> error;
};
StoredMemoryMessage StoreMemoryMessage(HandlerContext& context, MemoryContent content);

// `metadata` without its `category`, which is the memory's own.
struct MemoryMetadata {
  std::string json = "{}";
  std::optional<std::string> category;
};
MemoryMetadata ReadMemoryMetadata(const HandlerContext& context, Problems& problems);

// Everything but the content.
memory::NewMemory ReadNewMemory(const HandlerContext& context, Problems& problems);
memory::MemoryQuery ReadMemoryQuery(const HandlerContext& context, Problems& problems);

// `memory_type`, `category` and `filters`.
state::MemoryFilter ReadMemoryFilter(const HandlerContext& context);

// An id in `config` that was meant and got lost on its way would delete more than it should: one
// that is there and says nothing is a problem.
void RefuseLostIds(const HandlerContext& context, Problems& problems);

// What the field, a limit, says; larger ones are served up to a maximum.
uint64_t MemoryLimit(const HandlerContext& context, const Field& field);

}  // namespace agent_graph::api

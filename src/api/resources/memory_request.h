// Reads the checked bodies of the memory routes.
#pragma once

#include <optional>
#include <string>

#include "agent_graph/message.h"
#include "api/http/context.h"
#include "api/http/fields.h"
#include "memory/memory_store.h"

namespace agent_graph::api {

// Reads `config` and `options`. The user in `config` is used only if the caller may see all rows;
// other callers always access their own memories.
memory::Access ReadMemoryAccess(const HandlerContext& context, Problems& problems);

// `content` of a body: a text, or a message with its text.
struct MemoryContent {
  std::string text;                // blank only if there is a message
  std::optional<Message> message;  // nullopt: `content` was a string
};
MemoryContent ReadMemoryContent(const HandlerContext& context, Problems& problems);
// The message in its stored form: blocks that refer to a file of the caller get its type, name and
// size, and inline files are handled as in messages of a thread. `json` is empty without a message.
// StoreMemoryMessage may suspend the calling fiber.
struct StoredMemoryMessage {
  std::string json;
  std::optional<ErrorInfo> error;
};
StoredMemoryMessage StoreMemoryMessage(HandlerContext& context, MemoryContent content);

// `metadata` without the member `category`, which is stored separately.
struct MemoryMetadata {
  std::string json = "{}";
  std::optional<std::string> category;
};
MemoryMetadata ReadMemoryMetadata(const HandlerContext& context, Problems& problems);

// Reads all fields except the content.
memory::NewMemory ReadNewMemory(const HandlerContext& context, Problems& problems);
memory::MemoryQuery ReadMemoryQuery(const HandlerContext& context, Problems& problems);

// Reads `memory_type`, `category` and `filters`.
state::MemoryFilter ReadMemoryFilter(const HandlerContext& context);

// Adds a problem for each id in `config` that is present but empty: a lost value would delete more
// memories than intended.
void RefuseLostIds(const HandlerContext& context, Problems& problems);

// Returns the limit in the field, reduced to the maximum of a page.
uint64_t MemoryLimit(const HandlerContext& context, const Field& field);

}  // namespace agent_graph::api

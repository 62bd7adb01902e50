// The ids of responses and of their items. An id names the run, or the message, in its thread, so
// that every worker finds it without an index, also after a restart. It is no secret and grants
// nothing: rows of other users are out of the caller's scope.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::openai {

// A response is a run. Without a thread it was not stored, and no request can name it.
struct ResponseName {
  std::string thread_id;
  std::string run_id;
};

// "resp_" and text of the characters A-Z a-z 0-9 - _.
std::string ResponseId(const ResponseName& name);
// nullopt: not an id of this service.
std::optional<ResponseName> ParseResponseId(std::string_view id);

enum class ItemKind { kMessage, kReasoning, kCall, kCallOutput };

// An item is a part of a message.
struct ItemName {
  ItemKind kind = ItemKind::kMessage;
  std::string thread_id;
  std::string message_id;
  std::string part;  // the id of a call, or the number of a second item of its kind; else empty
};

std::string ItemId(const ItemName& name);
std::optional<ItemName> ParseItemId(std::string_view id);

}  // namespace agent_graph::openai

// /conversations/{conversation_id}/items: the messages of a thread as items.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/resources/stored_message.h"
#include "facades/openai/conversation_request.h"
#include "facades/openai/handlers.h"
#include "facades/openai/item_page.h"
#include "facades/openai/object_ids.h"
#include "facades/openai/reply.h"
#include "facades/openai/stored_items.h"
#include "message/codec.h"
#include "settings/settings.h"
#include "state/message_cursor.h"
#include "state/requests.h"

namespace agent_graph::openai {
namespace {

using api::HandlerContext;

std::vector<std::string> ItemsOf(const std::string& thread_id, const Message& message) {
  std::vector<std::string> items;
  AppendInputItems(thread_id, message, items);
  return items;
}

// A message and its items, one of which a request names.
struct NamedItem {
  state::StoredMessage message;
  std::vector<std::string> items;
  std::string json;  // of the named item
};

Result<std::optional<NamedItem>> ItemIn(const std::string& thread_id, state::StoredMessage stored,
                                        const std::string& item_id) {
  AG_ASSIGN_OR_RETURN(const Message message, message::FromJsonText(stored.json));
  std::vector<std::string> items = ItemsOf(thread_id, message);
  std::optional<NamedItem> named;
  const auto found = std::ranges::find(items, item_id, IdOfItem);
  if (found == items.end()) return named;
  std::string json = *found;
  named = NamedItem{std::move(stored), std::move(items), std::move(json)};
  return named;
}

// Returns nullopt if the conversation has no such item. kNotFound: there is no such conversation.
Result<std::optional<NamedItem>> FindItem(HandlerContext& context, const std::string& thread_id,
                                          const std::string& item_id) {
  const state::Scope& scope = context.caller().scope;
  std::optional<NamedItem> none;
  const std::optional<ItemName> name = ParseItemId(item_id);
  if (name && name->thread_id == thread_id && !api::MessageIdProblem(name->message_id)) {
    Result<state::StoredMessage> found =
        context.state().GetMessage(scope, thread_id, name->message_id);
    if (found.ok()) return ItemIn(thread_id, *std::move(found), item_id);
    if (found.status().code() != StatusCode::kNotFound) return found.status();
  }
  AG_RETURN_IF_ERROR(context.state().GetThread(scope, thread_id).status());
  return none;
}

// Finds the item that the path names. Answers the request and returns nullopt if there is none.
std::optional<NamedItem> FindNamed(HandlerContext& context) {
  api::Problems problems;
  const std::string& thread_id = ConversationId(context, problems);
  if (!problems.empty()) {
    context.Fail(std::move(problems).Error());
    return std::nullopt;
  }
  Result<std::optional<NamedItem>> named =
      FindItem(context, thread_id, context.head().path_parameters.at(1));
  if (named.ok() && *named) return *std::move(named);
  context.Fail(named.ok() ? NotFound("item not found") : named.status());
  return std::nullopt;
}

bool HaveCallInCommon(const Message& one, const Message& other) {
  return std::ranges::any_of(one.ToolCalls(), [&](const ToolCallBlock* call) {
    return std::ranges::any_of(other.ToolCalls(), [&](const ToolCallBlock* other_call) {
      return other_call->id == call->id;
    });
  });
}

// Calls of tools of the client are in two messages: the answer of the model, and a later one that
// hands them out. Deletes the other message of the two, if there is one.
Status DeleteOtherMessageOfCalls(HandlerContext& context, const std::string& thread_id,
                                 const state::StoredMessage& stored) {
  AG_ASSIGN_OR_RETURN(const Message message, message::FromJsonText(stored.json));
  if (message.ToolCalls().empty()) return Status::Ok();
  const state::Scope& scope = context.caller().scope;
  // Between the two are at most results of the agent's own tools.
  state::PageRequest request;
  request.cursor = HandsOutCalls(message) ? state::CursorBackFrom(stored.sequence - 1)
                                          : state::CursorOfMessage(stored.sequence + 1);
  AG_ASSIGN_OR_RETURN(const state::MessagePage page,
                      context.state().ListMessages(scope, thread_id, request));
  for (const state::StoredMessage& near : page.messages) {
    AG_ASSIGN_OR_RETURN(const Message other, message::FromJsonText(near.json));
    const bool is_other = HandsOutCalls(other) != HandsOutCalls(message);
    if (is_other && HaveCallInCommon(message, other)) {
      return context.state().DeleteMessage(scope, thread_id, near.id);
    }
    if (other.role == Role::kAssistant) break;
  }
  return Status::Ok();
}

// Fills the page with the items behind `after`, or with the first ones.
Status ReadPage(HandlerContext& context, const std::string& thread_id,
                const ItemPageOptions& options, std::optional<NamedItem> after, ItemPage& page) {
  const auto in_order = [&](std::vector<std::string> items) {
    if (options.newest_first) std::ranges::reverse(items);
    return items;
  };
  state::PageRequest request;
  request.limit = options.limit + 1;
  if (options.newest_first) request.cursor = state::CursorBackFrom(state::kNewestMessage);
  if (after) {
    std::vector<std::string> items = in_order(std::move(after->items));
    RemoveThrough(options.after, items);
    page.Take(std::move(items));
    const uint64_t sequence = after->message.sequence;
    request.cursor = options.newest_first ? state::CursorBackFrom(sequence - 1)
                                          : state::CursorOfMessage(sequence + 1);
  }
  do {
    AG_ASSIGN_OR_RETURN(state::MessagePage read,
                        context.state().ListMessages(context.caller().scope, thread_id, request));
    for (const state::StoredMessage& stored : read.messages) {
      if (page.has_more()) break;
      AG_ASSIGN_OR_RETURN(const Message message, message::FromJsonText(stored.json));
      if (!HandsOutCalls(message)) page.Take(in_order(ItemsOf(thread_id, message)));
    }
    request.cursor = std::move(read.next_cursor);
  } while (!page.has_more() && !request.cursor.empty());
  return Status::Ok();
}

}  // namespace

void CreateItems(HandlerContext& context) {
  api::Problems problems;
  state::AppendMessagesRequest append;
  append.scope = context.caller().scope;
  append.thread_id = ConversationId(context, problems);
  append.must_exist = true;
  std::vector<Message> messages;
  if (auto error = ReadNewItems(context, problems, messages)) return context.Fail(*error);
  ItemPage page;
  for (const Message& message : messages) page.Take(ItemsOf(append.thread_id, message));
  append.messages = api::ToStored(std::move(messages), *context.api().ids);
  const Status appended = context.state().AppendMessages(append);
  if (!appended.ok()) return context.Fail(appended);
  SendJson(context, page.Json());
}

void ListItems(HandlerContext& context) {
  api::Problems problems;
  const std::string& thread_id = ConversationId(context, problems);
  const ItemPageOptions options = ReadItemPageOptions(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  std::optional<NamedItem> after;
  if (!options.after.empty()) {
    Result<std::optional<NamedItem>> found = FindItem(context, thread_id, options.after);
    if (!found.ok()) return context.Fail(found.status());
    if (!*found) return context.Fail(NoSuchItemBefore("this conversation"));
    after = *std::move(found);
  }
  ItemPage page(options.limit, context.api().settings->limits.page_bytes_max);
  const Status read = ReadPage(context, thread_id, options, std::move(after), page);
  if (!read.ok()) return context.Fail(read);
  SendJson(context, page.Json());
}

void GetItem(HandlerContext& context) {
  if (std::optional<NamedItem> item = FindNamed(context)) SendJson(context, std::move(item->json));
}

void DeleteItem(HandlerContext& context) {
  const std::optional<NamedItem> item = FindNamed(context);
  if (!item) return;
  const std::string& thread_id = context.head().path_parameters.at(0);
  Status deleted = DeleteOtherMessageOfCalls(context, thread_id, item->message);
  if (deleted.ok()) {
    deleted = context.state().DeleteMessage(context.caller().scope, thread_id, item->message.id);
  }
  if (!deleted.ok()) return context.Fail(deleted);
  SendConversation(context, thread_id);
}

}  // namespace agent_graph::openai

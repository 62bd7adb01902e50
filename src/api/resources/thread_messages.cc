// GET and POST /v1/threads/{thread_id}/messages, GET and DELETE …/messages/{message_id}.

#include "agent_graph/json.h"
#include "api/http/context.h"
#include "api/http/query.h"
#include "api/resources/file_references.h"
#include "api/resources/handlers.h"
#include "api/resources/message_input.h"
#include "api/resources/stored_message.h"
#include "base/ids.h"
#include "base/json.h"
#include "state/requests.h"

namespace agent_graph::api {
namespace {

// Returns a page. A page that would exceed `bytes_max` ends early; each page contains where the
// next one starts.
std::string MessagesData(const state::MessagePage& page, const state::PageRequest& request,
                         uint64_t bytes_max) {
  std::string data = "{\"messages\":[";
  size_t taken = 0;
  for (const state::StoredMessage& message : page.messages) {
    if (taken > 0 && data.size() + message.json.size() > bytes_max) break;
    if (taken > 0) data += ',';
    data += message.json;
    ++taken;
  }
  data += ']';
  std::string next_cursor = page.next_cursor;
  if (taken < page.messages.size()) {
    next_cursor = state::CursorOfMessage(page.messages[taken].sequence);
  }
  if (!next_cursor.empty()) {
    // An offset counts from the given cursor and only matches of the search. Thus next_offset is
    // valid only for a page that was requested without a cursor and is not empty. Otherwise the
    // client must use the cursor.
    if (request.cursor.empty() && taken > 0) {
      data += ",\"next_offset\":" + std::to_string(request.offset + taken);
    }
    data += ",\"next_cursor\":\"" + next_cursor + '"';
  }
  data += '}';
  return data;
}

}  // namespace

void ListMessages(HandlerContext& context) {
  Problems problems;
  const std::string& thread_id = context.ThreadId(problems);
  state::PageRequest request = ReadPage(Query(context.head().query), problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<state::MessagePage> page =
      context.state().ListMessages(context.caller().scope, thread_id, request);
  if (!page.ok()) return context.Fail(page.status());
  context.Succeed(MessagesData(*page, request, context.api().settings->limits.page_bytes_max));
}

void AddMessages(HandlerContext& context) {
  Problems problems;
  state::AppendMessagesRequest append;
  append.scope = context.caller().scope;
  append.user_id = context.caller().user_id;
  append.thread_id = context.ThreadId(problems);
  append.creation_id = NewUuid();
  if (const json* metadata = FindMember(context.body(), "metadata")) {
    append.metadata_json = DumpJson(*metadata);
  }
  std::vector<Message> messages =
      ReadMessages(context.body(), "messages", MessageLimitsOf(context), problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  if (auto error = ResolveFiles(context, {"body", "messages"}, append.thread_id, messages)) {
    return context.Fail(*error);
  }
  append.messages = ToStored(std::move(messages), *context.api().ids);
  Status appended = context.state().AppendMessages(append);
  if (!appended.ok()) return context.Fail(appended);
  context.Succeed(R"({"success":true,"message":"messages added","data":true})");
}

void GetMessage(HandlerContext& context) {
  Problems problems;
  const std::string& thread_id = context.ThreadId(problems);
  const std::string& message_id = context.MessageId(problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<state::StoredMessage> message =
      context.state().GetMessage(context.caller().scope, thread_id, message_id);
  if (!message.ok()) return context.Fail(message.status());
  context.Succeed(message->json);
}

void DeleteMessage(HandlerContext& context) {
  Problems problems;
  const std::string& thread_id = context.ThreadId(problems);
  const std::string& message_id = context.MessageId(problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Status deleted = context.state().DeleteMessage(context.caller().scope, thread_id, message_id);
  if (!deleted.ok()) return context.Fail(deleted);
  context.Succeed(R"({"success":true,"message":"message deleted","data":true})");
}

}  // namespace agent_graph::api

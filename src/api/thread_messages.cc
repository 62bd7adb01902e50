// GET and POST /v1/threads/{thread_id}/messages, GET and DELETE …/messages/{message_id}.
#include <nlohmann/json.hpp>

#include "api/context.h"
#include "api/handlers.h"
#include "api/query.h"
#include "api/stored_message.h"
#include "base/ids.h"
#include "base/json.h"

namespace agent_graph::api {
namespace {

// A smaller page is whole; the state ends a larger one early.
constexpr uint64_t kWholePageBytes = 2 * 1024 * 1024;

// Whether messages follow a page that was asked for with one more than `limit`, which is left out.
Result<bool> MoreFollow(HandlerContext& context, const std::string& thread_id,
                        const state::PageRequest& request, uint64_t limit,
                        state::MessagePage& page) {
  if (page.messages.size() > limit) {
    page.messages.resize(limit);
    return true;
  }
  uint64_t bytes = context.api().settings->limits.message_bytes_max;
  for (const state::StoredMessage& message : page.messages) bytes += message.json.size();
  bool may_be_cut = page.messages.size() == kPageLimitMax || bytes > kWholePageBytes;
  if (page.messages.empty() || !may_be_cut) return false;
  state::PageRequest rest = request;
  rest.offset += page.messages.size();
  rest.limit = 1;
  AG_ASSIGN_OR_RETURN(state::MessagePage following,
                      context.state().ListMessages(context.caller().scope, thread_id, rest));
  return !following.messages.empty();
}

// A page that would be larger than the limit ends early, too.
std::string MessagesData(const state::MessagePage& page, uint64_t offset, bool more,
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
  if (more || taken < page.messages.size()) {
    data += ",\"next_offset\":" + std::to_string(offset + taken);
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
  const uint64_t limit = request.limit++;
  Result<state::MessagePage> page =
      context.state().ListMessages(context.caller().scope, thread_id, request);
  if (!page.ok()) return context.Fail(page.status());
  Result<bool> more = MoreFollow(context, thread_id, request, limit, *page);
  if (!more.ok()) return context.Fail(more.status());
  context.Succeed(
      MessagesData(*page, request.offset, *more, context.api().settings->limits.page_bytes_max));
}

void AddMessages(HandlerContext& context) {
  Problems problems;
  state::AppendMessages append;
  append.scope = context.caller().scope;
  append.user_id = context.caller().user_id;
  append.thread_id = context.ThreadId(problems);
  append.creation_id = NewUuid();
  if (const nlohmann::json* metadata = FindMember(context.body(), "metadata")) {
    append.metadata_json = DumpJson(*metadata);
  }
  append.messages =
      ToStored(ReadMessages(context.body(), "messages", context.message_limits(), problems),
               *context.api().ids);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Status appended = context.state().Append(append);
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

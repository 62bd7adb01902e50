// Threads as resources: their list, and the conversation of one.
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/page_reads.h"
#include "api/http/request_memory.h"
#include "auth/guard.h"
#include "base/json.h"
#include "base/json_array.h"
#include "base/percent_encoding.h"
#include "facades/mcp/call.h"
#include "facades/mcp/errors.h"
#include "facades/mcp/methods.h"
#include "state/service.h"

namespace agent_graph::mcp {
namespace {

constexpr std::string_view kUriPrefix = "agent-graph://threads/";
constexpr std::string_view kCursorPart = "?cursor=";
constexpr uint64_t kThreadsAtOnce = 100;
constexpr uint64_t kMessagesAtOnce = 1000;
constexpr size_t kCursorBytesMax = 4096;
constexpr auth::Permission kReadThreads{auth::Resource::kCheckpointer, auth::Action::kRead};

std::string UriOf(std::string_view thread_id) {
  return std::string(kUriPrefix) + PercentEncode(thread_id);
}

// A page of the messages of a thread.
struct Place {
  std::string thread_id;
  std::string cursor;
};

std::optional<Place> PlaceOf(std::string_view uri) {
  if (!uri.starts_with(kUriPrefix)) return std::nullopt;
  uri.remove_prefix(kUriPrefix.size());
  Place place;
  if (const size_t query = uri.find('?'); query != std::string_view::npos) {
    if (!uri.substr(query).starts_with(kCursorPart)) return std::nullopt;
    place.cursor = uri.substr(query + kCursorPart.size());
    uri = uri.substr(0, query);
  }
  if (!PercentDecode(uri, place.thread_id) || place.cursor.size() > kCursorBytesMax) {
    return std::nullopt;
  }
  if (place.thread_id.empty() || api::ThreadIdProblem(place.thread_id)) return std::nullopt;
  return place;
}

// A permission for tools is not one for threads, so the guard decides as it does for the routes of
// threads. `thread_id` empty: about all threads.
std::optional<api::ErrorInfo> FindReader(const Call& call, const std::string& thread_id,
                                         api::Caller& reader) {
  api::HandlerContext& context = call.context;
  auth::GuardRequest request{context.head(), context.exchange().cancellation(), kReadThreads};
  request.resource_id = thread_id;
  auth::GuardOutcome outcome = context.api().guard->Check(request);
  if (outcome.refusal) return api::ErrorOf(*std::move(outcome.refusal));
  reader = std::move(outcome.caller);
  return std::nullopt;
}

// Answers what the guard has refused. With 401 and 403, clients get another token and repeat the
// request; they ignore the error of a response with 200.
void SendRefusal(const Call& call, const api::ErrorInfo& error) {
  if (api::IsAuthenticationError(error.error)) return call.context.Fail(error);
  if (error.error == api::ApiError::kPermissionDenied) return SendError(call, RpcErrorOf(error));
  SendFailure(call, error);
}

std::optional<api::ErrorInfo> EnterReads(const Call& call, api::PageReads::Place& place) {
  api::HandlerContext& context = call.context;
  return api::EnterPageReads(context.exchange(), *context.api().page_reads,
                             context.api().settings->limits, place);
}

void AppendThread(std::string& out, const state::ThreadRecord& thread) {
  out += "{\"uri\":";
  AppendJsonString(out, UriOf(thread.thread_id));
  out += ",\"name\":";
  AppendJsonString(out, thread.thread_id);
  if (!thread.name.empty()) {
    out += ",\"title\":";
    AppendJsonString(out, thread.name);
  }
  out += R"(,"mimeType":"application/json","annotations":{"lastModified":")";
  out += IsoTimestamp(thread.updated_micros);
  out += "\"}}";
}

// The answer for a thread that does not exist or belongs to another user.
void SendNotFound(const Call& call, const std::string& uri) {
  RpcError error{call.stateless() ? kInvalidParams : kResourceNotFound, "resource not found"};
  error.data_json = "{\"uri\":";
  AppendJsonString(error.data_json, uri);
  error.data_json += '}';
  SendError(call, error);
}

std::string ConversationJson(const std::string& thread_id, const state::MessagePage& page) {
  std::string text = "{\"thread_id\":";
  AppendJsonString(text, thread_id);
  text += ",\"messages\":";
  AppendJsonArray(text, page.messages, [](std::string& out, const state::StoredMessage& message) {
    out += message.json;
  });
  if (!page.next_cursor.empty()) {
    text += ",\"next\":";
    AppendJsonString(text, UriOf(thread_id) + std::string(kCursorPart) + page.next_cursor);
  }
  return text + '}';
}

bool RefusedWithoutThreads(const Call& call) {
  if (call.context.api().state != nullptr) return false;
  SendError(call, {kMethodNotFound, "this server has no resources", call.stateless() ? 404 : 200});
  return true;
}

}  // namespace

void ListResources(const Call& call) {
  if (RefusedWithoutThreads(call)) return;
  api::Caller reader;
  if (auto error = FindReader(call, "", reader)) return SendRefusal(call, *error);
  state::PageRequest page;
  page.limit = kThreadsAtOnce;
  if (const std::string* cursor = TextMember(call.message.params, "cursor")) page.cursor = *cursor;
  if (page.cursor.size() > kCursorBytesMax) {
    return SendError(call, {kInvalidParams, "params.cursor: is not one of this list"});
  }
  api::PageReads::Place place;
  if (auto error = EnterReads(call, place)) return SendFailure(call, *error);
  const Result<state::ThreadPage> threads = call.context.state().ListThreads(reader.scope, page);
  if (!threads.ok()) return SendFailure(call, call.context.Explain(threads.status()));
  std::string members = "\"resources\":";
  AppendJsonArray(members, threads->threads, AppendThread);
  if (!threads->next_cursor.empty()) {
    members += ",\"nextCursor\":";
    AppendJsonString(members, threads->next_cursor);
  }
  SendResult(call, ListingOf(call, members));
}

void ListResourceTemplates(const Call& call) {
  if (RefusedWithoutThreads(call)) return;
  std::string members = R"("resourceTemplates":[{"uriTemplate":")";
  members += kUriPrefix;
  members += R"({thread_id}{?cursor}","name":"thread","title":"Conversation","description":)";
  members += R"("The messages of a conversation with the agent, oldest first. `next` in the )";
  members += R"(content is the resource with more of them.","mimeType":"application/json"}])";
  SendResult(call, ListingOf(call, members));
}

void ReadResource(const Call& call) {
  if (RefusedWithoutThreads(call)) return;
  const std::string* uri = TextMember(call.message.params, "uri");
  if (uri == nullptr) return SendError(call, {kInvalidParams, "params.uri: is required"});
  const std::optional<Place> place = PlaceOf(*uri);
  if (!place) return SendNotFound(call, *uri);
  api::Caller reader;
  if (auto error = FindReader(call, place->thread_id, reader)) {
    const bool is_forbidden = error->error == api::ApiError::kPermissionDenied;
    api::Caller of_any;
    const bool is_due_to_thread = is_forbidden && !FindReader(call, "", of_any);
    return is_due_to_thread ? SendNotFound(call, *uri) : SendRefusal(call, *error);
  }
  api::PageReads::Place read_place;
  if (auto error = EnterReads(call, read_place)) return SendFailure(call, *error);
  state::PageRequest request;
  request.limit = kMessagesAtOnce;
  request.cursor = place->cursor;
  const Result<state::MessagePage> page =
      call.context.state().ListMessages(reader.scope, place->thread_id, request);
  if (page.status().code() == StatusCode::kNotFound) return SendNotFound(call, *uri);
  if (!page.ok()) return SendFailure(call, call.context.Explain(page.status()));
  std::string members = "\"contents\":[{\"uri\":";
  AppendJsonString(members, *uri);
  members += R"(,"mimeType":"application/json","text":)";
  AppendJsonString(members, ConversationJson(place->thread_id, *page));
  members += "}]";
  SendResult(call, ListingOf(call, members));
}

}  // namespace agent_graph::mcp

// /conversations: creates, reads, changes and deletes conversations, which are threads.
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "api/resources/stored_message.h"
#include "base/id_generator.h"
#include "base/ids.h"
#include "base/json.h"
#include "facades/openai/conversation_object.h"
#include "facades/openai/conversation_request.h"
#include "facades/openai/handlers.h"
#include "facades/openai/reply.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::openai {
namespace {

using api::HandlerContext;

constexpr int kThreadIdAttemptsMax = 8;

// Creates a thread with this content. Tries again with a new id: a generated id may already be
// used, also by another user.
Status CreateThread(HandlerContext& context, state::AppendMessagesRequest& create) {
  create.scope = context.caller().scope;
  create.user_id = context.caller().user_id;
  Status created(StatusCode::kConflict, "a thread with this id already exists");
  for (int attempt = 0; attempt < kThreadIdAttemptsMax; ++attempt) {
    create.thread_id = context.api().ids->Next();
    create.creation_id = NewUuid();
    const Status found = context.state().GetThread(create.scope, create.thread_id).status();
    if (found.ok()) continue;
    if (found.code() != StatusCode::kNotFound) return found;
    created = context.state().AppendMessages(create);
    if (created.code() != StatusCode::kPermissionDenied) break;
  }
  return created;
}

}  // namespace

void CreateConversation(HandlerContext& context) {
  api::Problems problems;
  CheckConversationMetadata(context.body(), problems);
  std::vector<Message> messages;
  if (auto error = ReadNewItems(context, problems, messages)) return context.Fail(*error);
  state::AppendMessagesRequest create;
  create.messages = api::ToStored(std::move(messages), *context.api().ids);
  if (const json* metadata = api::FindMember(context.body(), "metadata")) {
    create.metadata_json = DumpJson(*metadata);
  }
  const Status created = CreateThread(context, create);
  if (!created.ok()) return context.Fail(created);
  SendConversation(context, create.thread_id);
}

void GetConversation(HandlerContext& context) {
  api::Problems problems;
  const std::string& thread_id = ConversationId(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  SendConversation(context, thread_id);
}

void UpdateConversation(HandlerContext& context) {
  api::Problems problems;
  const std::string& thread_id = ConversationId(context, problems);
  // null removes the metadata.
  if (!context.body().contains("metadata")) {
    problems.Add({"body", "metadata"}, "is required", api::ProblemType::kMissing);
  }
  CheckConversationMetadata(context.body(), problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  const Result<state::ThreadRecord> thread =
      context.state().GetThread(context.caller().scope, thread_id);
  if (!thread.ok()) return context.Fail(thread.status());
  state::AppendMessagesRequest change;
  change.scope = context.caller().scope;
  change.thread_id = thread_id;
  change.must_exist = true;
  change.metadata_json =
      DumpJson(MetadataChange(thread->metadata_json, api::FindMember(context.body(), "metadata")));
  if (Status changed = context.state().AppendMessages(change); !changed.ok()) {
    return context.Fail(changed);
  }
  SendConversation(context, thread_id);
}

void DeleteConversation(HandlerContext& context) {
  api::Problems problems;
  const std::string& thread_id = ConversationId(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  const Status deleted = context.state().DeleteThread(context.caller().scope, thread_id);
  if (!deleted.ok()) return context.Fail(deleted);
  context.api().guard->Evict(thread_id);
  std::string out = R"({"id":)";
  AppendJsonString(out, thread_id);
  SendJson(context, out + R"(,"object":"conversation.deleted","deleted":true})");
}

}  // namespace agent_graph::openai

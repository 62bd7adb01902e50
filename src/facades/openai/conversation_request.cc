#include "facades/openai/conversation_request.h"

#include <utility>

#include "agent_graph/json.h"
#include "api/resources/file_references.h"
#include "api/resources/message_input.h"
#include "base/id_generator.h"
#include "facades/openai/conversation_object.h"
#include "facades/openai/input_items.h"
#include "facades/openai/reply.h"
#include "facades/openai/stored_responses.h"

namespace agent_graph::openai {

const std::string& ConversationId(const api::HandlerContext& context, api::Problems& problems) {
  const std::string& thread_id = context.head().path_parameters.at(0);
  if (auto problem = api::ThreadIdProblem(thread_id)) {
    problems.Add({"path", "conversation_id"}, *std::move(problem), api::ProblemType::kValue);
  }
  return thread_id;
}

std::optional<api::ErrorInfo> ReadNewItems(api::HandlerContext& context, api::Problems& problems,
                                           std::vector<Message>& messages) {
  const Location place = {"body", "items"};
  ReferencedMessages referenced(context);
  if (const json* items = api::FindMember(context.body(), "items")) {
    const auto find_message = [&](const ItemName& item) { return referenced.Find(item); };
    messages = ReadItems(*items, place, api::MessageLimitsOf(context), find_message, problems);
  }
  if (referenced.failure()) return referenced.failure();
  if (!problems.empty()) return std::move(problems).Error();
  for (Message& message : messages) message.id = context.api().ids->Next();
  return api::ResolveFiles(context, place, "", messages);
}

void SendConversation(api::HandlerContext& context, const std::string& thread_id) {
  const Result<state::ThreadRecord> thread =
      context.state().GetThread(context.caller().scope, thread_id);
  if (!thread.ok()) return context.Fail(thread.status());
  SendJson(context, ConversationJson(*thread));
}

}  // namespace agent_graph::openai

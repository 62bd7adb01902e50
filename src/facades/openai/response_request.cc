#include "facades/openai/response_request.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "api/resources/run_request.h"
#include "base/json.h"
#include "base/text.h"
#include "facades/openai/chat_request.h"
#include "facades/openai/errors.h"
#include "facades/openai/media_parts.h"
#include "facades/openai/model_options.h"
#include "facades/openai/response_shapes.h"
#include "facades/run/body_members.h"
#include "facades/run/client_tools.h"

namespace agent_graph::openai {
namespace {

using api::HandlerContext;

constexpr size_t kMetadataBytesMax = 16 * 1024;

// `conversation` is the id of a thread, or an object with it.
std::string ReadConversation(const json& body, api::Problems& problems) {
  const json* conversation = api::FindMember(body, "conversation");
  if (conversation == nullptr) return "";
  Location place = {"body", "conversation"};
  const json* id = conversation;
  if (conversation->is_object()) {
    id = api::FindMember(*conversation, "id");
    place.emplace_back("id");
  }
  std::string text = id != nullptr ? api::ThreadIdText(*id).value_or("") : "";
  if (IsBlank(text)) {
    problems.Add(std::move(place), "must be the id of a thread", api::ProblemType::kValue);
    return "";
  }
  if (std::optional<std::string> problem = api::ThreadIdProblem(text)) {
    problems.Add(std::move(place), *std::move(problem), api::ProblemType::kValue);
  }
  return text;
}

void ReadThread(const HandlerContext& context, ResponseRequest& request, api::Problems& problems) {
  const json& body = context.body();
  std::string& thread_id = request.run.thread_id;
  thread_id = ReadThreadId(context, problems);
  const std::string conversation = ReadConversation(body, problems);
  if (!thread_id.empty() && !conversation.empty() && thread_id != conversation) {
    problems.Add({"body", "conversation"}, "differs from the thread of metadata or X-Thread-Id",
                 api::ProblemType::kValue);
  }
  if (thread_id.empty()) thread_id = conversation;
  const json* previous = api::FindMember(body, "previous_response_id");
  if (previous == nullptr) return;
  if (!thread_id.empty()) {
    problems.Add({"body", "previous_response_id"}, "cannot be combined with a conversation",
                 api::ProblemType::kValue);
  }
  // No response has an id of another form.
  request.previous =
      ParseResponseId(previous->get_ref<const std::string&>()).value_or(ResponseName{"", ""});
}

void CheckCombination(const ResponseRequest& request, api::Problems& problems) {
  if (request.store) return;
  if (request.background) {
    problems.Add({"body", "background"}, "needs store: the response is read later",
                 api::ProblemType::kValue);
  }
  if (!request.run.thread_id.empty()) {
    problems.Add({"body", "store"}, "must be true for a conversation, which stores its messages",
                 api::ProblemType::kValue);
  }
}

void CheckMetadata(const json& body, api::Problems& problems) {
  const json* metadata = api::FindMember(body, "metadata");
  if (metadata == nullptr) return;
  if (metadata->size() > kMetadataMembersMax || DumpJson(*metadata).size() > kMetadataBytesMax) {
    problems.Add({"body", "metadata"}, "has more than 16 members, or more than 16384 bytes",
                 api::ProblemType::kTooLong);
  }
}

void CheckInstructions(const HandlerContext& context, api::Problems& problems) {
  const json* instructions = api::FindMember(context.body(), "instructions");
  const size_t bytes_max = context.api().settings->limits.message_bytes_max;
  if (instructions == nullptr || instructions->get_ref<const std::string&>().size() <= bytes_max) {
    return;
  }
  problems.Add({"body", "instructions"},
               "must have at most " + std::to_string(bytes_max) + " bytes",
               api::ProblemType::kTooLong);
}

json ConfigOf(const json& body) {
  json config = json::object();
  if (const json* calls = api::FindMember(body, "max_tool_calls")) {
    config["budget"] = {{"tool_calls", *calls}};
  }
  return config;
}

}  // namespace

ResponseRequest ReadResponseRequest(const HandlerContext& context, api::Problems& problems) {
  const json& body = context.body();
  ResponseRequest request;
  request.stream = facades::IsTrue(body, "stream");
  request.background = facades::IsTrue(body, "background");
  request.store = !facades::IsFalse(body, "store");
  run::RunRequest& run = request.run;
  run = api::RunRequestOf(context);
  const json config = ConfigOf(body);
  run.config = api::GraphConfig(&config, context.caller());
  ReadThread(context, request, problems);
  CheckCombination(request, problems);
  CheckMetadata(body, problems);
  CheckInstructions(context, problems);
  run.client_tools = facades::ReadClientTools(
      context, {.allowed = AllowedTools(body, nullptr), .skips_other_types = true}, problems);
  run.call_options = ReadResponseOptions(body, problems);
  return request;
}

void ReadResponseInput(const HandlerContext& context, const StoredMessageLookup& find_message,
                       run::RunRequest& run, api::Problems& problems) {
  const json& input = context.body().at("input");
  run.messages = ReadInput(input, api::MessageLimitsOf(context), find_message, problems);
  if (run.messages.empty() && problems.empty()) {
    problems.Add({"body", "input"}, "has no content", api::ProblemType::kValue);
  }
}

std::optional<api::ErrorInfo> FindUnsupportedInResponse(const json& body) {
  const json* prompt = api::FindMember(body, "prompt");
  if (prompt != nullptr) return Unsupported("prompt", "an agent has its own prompts");
  const json* logprobs = api::FindMember(body, "top_logprobs");
  if (logprobs != nullptr && *logprobs != 0) {
    return Unsupported("top_logprobs", "an agent reports no probabilities of tokens");
  }
  const json* include = api::FindMember(body, "include");
  if (include != nullptr && include->is_array() &&
      std::ranges::find(*include, json("message.output_text.logprobs")) != include->end()) {
    return Unsupported("include", "an agent reports no probabilities of tokens");
  }
  return std::nullopt;
}

}  // namespace agent_graph::openai

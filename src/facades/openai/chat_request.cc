#include "facades/openai/chat_request.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "api/resources/message_input.h"
#include "api/resources/run_request.h"
#include "base/text.h"
#include "facades/openai/chat_messages.h"
#include "facades/openai/errors.h"
#include "facades/openai/model_options.h"
#include "facades/run/body_members.h"
#include "facades/run/client_tools.h"

namespace agent_graph::openai {
namespace {

using api::FindMember;
using api::HandlerContext;
using api::Problems;
using api::ProblemType;

constexpr std::string_view kThreadHeader = "x-thread-id";

// True if the value asks for nothing: null, false, zero, or an empty text, array or object.
bool IsIdle(const json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0;
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value.empty();
}

bool IsTextOnly(const json& value) {
  return value == json::array({"text"});
}

bool IsFreeChoice(const json& value) {
  return value == "auto" || value == "none";
}

bool IsOne(const json& value) {
  return value == 1;
}

// A parameter that is refused unless it is idle or `honoured`.
struct RefusedParameter {
  const char* name;
  std::string_view problem;
  bool (*honoured)(const json& value) = IsIdle;
};

constexpr std::array kRefused = {
    RefusedParameter{"n", "an agent gives one answer", IsOne},
    RefusedParameter{"logprobs", "an agent reports no probabilities of tokens"},
    RefusedParameter{"top_logprobs", "an agent reports no probabilities of tokens"},
    RefusedParameter{"logit_bias", "the tokens of an agent cannot be weighted"},
    RefusedParameter{"modalities", "an agent answers with text", IsTextOnly},
    RefusedParameter{"audio", "an agent answers with text"},
    RefusedParameter{"functions", "is replaced by tools"},
    RefusedParameter{"function_call", "is replaced by tool_choice", IsFreeChoice},
    RefusedParameter{"web_search_options", "an agent has its own tools"},
};

std::string ThreadInMetadata(const json& body) {
  const json* metadata = FindMember(body, "metadata");
  if (metadata == nullptr || !metadata->is_object()) return "";
  const json* member = FindMember(*metadata, "thread_id");
  std::string id = member != nullptr ? api::ThreadIdText(*member).value_or("") : "";
  return IsBlank(id) ? "" : id;
}

}  // namespace

std::string ReadThreadId(const HandlerContext& context, Problems& problems) {
  std::string id = ThreadInMetadata(context.body());
  std::vector<std::string> place = {"body", "metadata", "thread_id"};
  const std::string header(Trim(context.head().Header(kThreadHeader)));
  if (!header.empty() && !id.empty() && id != header) {
    problems.Add(place, "differs from the header X-Thread-Id", ProblemType::kValue);
  }
  if (id.empty() && !header.empty()) {
    id = header;
    place = {"header", "X-Thread-Id"};
  }
  if (id.empty()) return id;
  if (std::optional<std::string> problem = api::ThreadIdProblem(id)) {
    problems.Add(std::move(place), *std::move(problem), ProblemType::kValue);
  }
  return id;
}

ChatRequest ReadChatRequest(const HandlerContext& context, Problems& problems) {
  const json& body = context.body();
  ChatRequest request;
  request.model = body.at("model").get<std::string>();
  request.stream = facades::IsTrue(body, "stream");
  if (const json* options = FindMember(body, "stream_options")) {
    request.include_usage = facades::IsTrue(*options, "include_usage");
  }
  run::RunRequest& run = request.run;
  run = api::RunRequestOf(context);
  run.config = api::GraphConfig(nullptr, context.caller());
  run.thread_id = ReadThreadId(context, problems);
  run.client_tools = facades::ReadClientTools(
      context, {.member = "function", .allowed = AllowedTools(body, "function")}, problems);
  run.call_options = ReadChatOptions(body, problems);
  const json& messages = body.at("messages");
  const size_t first = run.thread_id.empty() ? 0 : TailOf(messages);
  if (first == messages.size()) {
    problems.Add({"body", "messages"},
                 "must end with a message of the user or of a tool: the thread has the others",
                 ProblemType::kValue);
  }
  run.messages = ReadChatMessages(messages, first, api::MessageLimitsOf(context), problems);
  return request;
}

std::optional<api::ErrorInfo> FindUnsupported(const json& body) {
  for (const RefusedParameter& refused : kRefused) {
    const json* value = FindMember(body, refused.name);
    if (value == nullptr || IsIdle(*value) || refused.honoured(*value)) continue;
    return Unsupported(refused.name, std::string(refused.problem));
  }
  return std::nullopt;
}

}  // namespace agent_graph::openai

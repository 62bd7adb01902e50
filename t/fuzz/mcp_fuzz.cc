// Arbitrary messages of the Model Context Protocol: parsing must be safe, every refusal must be a
// message in valid JSON, and questions and answers must stay within their forms.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/fields.h"
#include "base/json.h"
#include "facades/mcp/agent_call.h"
#include "facades/mcp/errors.h"
#include "facades/mcp/json_rpc.h"
#include "facades/mcp/questions.h"
#include "facades/mcp/request_headers.h"
#include "facades/mcp/shapes.h"

namespace agent_graph::mcp {
namespace {

constexpr size_t kMessageBytesMax = 64 * 1024;

void Require(bool condition) {
  if (!condition) std::abort();
}

void RefusalIsAMessage(std::string_view id_json, const RpcError& error) {
  const json message = json::parse(ErrorMessage(id_json, error), nullptr, false);
  Require(!message.is_discarded() && message.at("error").at("code").is_number_integer());
}

// The headers in which a client repeats members of its message.
bridge::RequestHead HeadOf(const RpcMessage& message) {
  bridge::RequestHead head;
  head.headers.emplace_back(kRevisionHeader, "2026-07-28");
  head.headers.emplace_back("mcp-method", message.method);
  for (const char* name : {"name", "uri"}) {
    if (const std::string* text = TextMember(message.params, name)) {
      head.headers.emplace_back("mcp-name", *text);
    }
  }
  return head;
}

void TryQuestions(const json& params) {
  const Pause pause = ReadPause(DumpJson(params));
  Peer peer;
  ReadCapabilities(params, peer);
  std::vector<json> answers;
  for (const Question& question : pause.questions) {
    Require(!json::parse(ElicitationParams(question, peer), nullptr, false).is_discarded());
    answers.push_back({{"action", "accept"}, {"content", params}});
  }
  if (pause.questions.empty()) return;
  const auto messages = AnswerMessages(pause, answers);
  Require(!pause.by_tools || messages->size() == pause.questions.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<json> body = ParseJson(text);
  if (!body.ok() || !body->is_object()) return 0;
  api::Problems problems;
  api::CheckFields(*body, kRpcBody.fields, {"body"}, problems);
  if (!problems.empty()) {
    const api::Reply reply = RenderError(std::move(problems).Error(), "id");
    Require(reply.status == 400 && !json::parse(reply.body, nullptr, false).is_discarded());
  }
  RpcMessage message;
  if (const auto error = ReadMessage(*body, message)) {
    RefusalIsAMessage("null", *error);
    return 0;
  }
  Require(!json::parse(ResultMessage(message.id_json, "{}"), nullptr, false).is_discarded());
  Require(message.id_json.size() <= kIdBytesMax);
  if (const auto error = CheckHeaders(HeadOf(message), message, "2026-07-28")) {
    RefusalIsAMessage(message.id_json, *error);
  }
  ToolCall tool;
  if (const auto error = ReadToolCall(message, tool)) {
    RefusalIsAMessage(message.id_json, *error);
  } else {
    AgentArguments arguments;
    const std::string problem = ReadAgentArguments(*tool.arguments, kMessageBytesMax, arguments);
    Require(!problem.empty() || arguments.message.size() <= kMessageBytesMax);
  }
  if (message.params != nullptr) TryQuestions(*message.params);
  if (message.result != nullptr) Require(IsAnswer(*message.result) || message.result->is_object());
  return 0;
}

}  // namespace agent_graph::mcp

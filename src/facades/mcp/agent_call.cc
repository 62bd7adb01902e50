#include "facades/mcp/agent_call.h"

#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/sha256.h"
#include "facades/mcp/call_reader.h"
#include "facades/mcp/call_writer.h"
#include "facades/mcp/errors.h"
#include "facades/mcp/input_required.h"
#include "facades/mcp/paused_run.h"
#include "facades/mcp/request_headers.h"
#include "facades/mcp/session_call.h"
#include "facades/run/facade_run.h"

namespace agent_graph::mcp {
namespace {

using api::HandlerContext;

// Executes the run within this request, and answers with its result.
void Perform(const Call& call, const ToolCall& tool, api::GraphRequest request) {
  HandlerContext& context = call.context;
  const bool shows_thread = context.api().state != nullptr;
  CallWriter writer(context, call.message.id_json, TakesEvents(context.head()));
  CallReader reader(context, call.peer, writer, tool.progress_token_json, facades::HeldBytes());
  facades::FacadeRun run{.request = std::move(request), .wants_deltas = false};
  if (const auto error = facades::PerformRun(context, std::move(run), reader)) {
    return writer.begun() ? writer.Fail(*error) : SendFailedCall(call, *error);
  }
  if (reader.outcome() == run::RunStatus::kInterrupted && shows_thread && call.stateless()) {
    const Pause pause = ReadPause(reader.interrupt_json());
    if (CanAsk(call.peer, pause.questions)) {
      const Result<std::string> asked = AskForInput(call, {.digest = tool.digest,
                                                           .thread_id = reader.thread_id(),
                                                           .run_id = reader.run_id(),
                                                           .pause = pause});
      if (!asked.ok()) return writer.Fail(context.Explain(asked.status()));
      return writer.Finish(*asked);
    }
  }
  writer.Finish(ResultOf(call, reader.ResultMembers(shows_thread)));
}

// Ends a call whose user has not answered what the graph waits for.
void SendStillWaiting(const Call& call, const std::string& thread_id) {
  std::string members = R"("content":[{"type":"text","text":"The agent still waits."}],)";
  members += R"("structuredContent":{"answer":"","status":"interrupted","thread_id":)";
  AppendJsonString(members, thread_id);
  SendResult(call, ResultOf(call, members + '}'));
}

// Resumes the run of a call that is repeated with the user's answers.
void Continue(const Call& call, const ToolCall& tool) {
  HandlerContext& context = call.context;
  PausedCall paused;
  std::vector<json> answers;
  switch (ReadInput(call, tool.digest, paused, answers)) {
    case InputReading::kAnswered:
      break;
    case InputReading::kMissing: {
      const Result<std::string> asked = AskForInput(call, paused);
      if (!asked.ok()) return SendFailure(call, asked.status());
      return SendResult(call, *asked);
    }
    case InputReading::kRefused:
      return;
  }
  if (auto error = facades::CheckThread(context, paused.thread_id)) {
    return SendFailedCall(call, *error);
  }
  std::optional<std::vector<Message>> messages = AnswerMessages(paused.pause, answers);
  if (!messages) return SendStillWaiting(call, paused.thread_id);
  const Result<bool> waits = StillWaits(context, paused.thread_id, paused.run_id);
  if (!waits.ok()) return SendFailedCall(call, context.Explain(waits.status()));
  if (!*waits) return SendResult(call, ResultOf(call, FailedCall(kNoLongerWaits)));
  Perform(call, tool, AnswerRun(context, paused.thread_id, paused.run_id, *std::move(messages)));
}

}  // namespace

std::optional<RpcError> ReadToolCall(const RpcMessage& message, ToolCall& tool) {
  static const json kNoArguments = json::object();
  const std::string* name = TextMember(message.params, "name");
  if (name == nullptr) return RpcError{kInvalidParams, "params.name: is required"};
  tool.name = *name;
  tool.arguments = &kNoArguments;
  if (const json* given = api::FindMember(*message.params, "arguments")) {
    if (!given->is_object()) return RpcError{kInvalidParams, "params.arguments: must be an object"};
    tool.arguments = given;
  }
  if (const json* meta = ObjectMember(message.params, "_meta")) {
    const auto token = meta->find("progressToken");
    if (token != meta->end() && (token->is_string() || token->is_number_integer())) {
      tool.progress_token_json = DumpJson(*token);
      if (tool.progress_token_json.size() > kIdBytesMax) {
        return RpcError{kInvalidParams, "params._meta.progressToken: is too long"};
      }
    }
  }
  tool.digest = Sha256Hex(tool.name + ' ' + DumpSortedJson(*tool.arguments));
  return std::nullopt;
}

api::GraphRequest AgentRun(const HandlerContext& context, const std::string& thread_id,
                           std::vector<Message> messages) {
  api::GraphRequest request;
  request.run = api::RunRequestOf(context);
  request.run.config = api::GraphConfig(nullptr, context.caller());
  request.run.thread_id = thread_id;
  request.run.messages = std::move(messages);
  request.run.client_tools.emplace();  // the client runs no tools for the agent
  return request;
}

void SendFailedCall(const Call& call, const api::ErrorInfo& error) {
  const int status = RpcErrorOf(error).status;
  if (error.error == api::ApiError::kIdempotencyMismatch) {
    return SendError(call, {kInvalidRequest, "id: another call of this session had it"});
  }
  if (status >= 500 || status == 429) return SendFailure(call, error);
  SendResult(call, ResultOf(call, FailedCall(TextOf(error))));
}

void CallAgent(const Call& call, const ToolCall& tool) {
  HandlerContext& context = call.context;
  if (call.stateless() && api::FindMember(*call.message.params, "requestState") != nullptr) {
    return Continue(call, tool);
  }
  AgentArguments arguments;
  const std::string problem = ReadAgentArguments(
      *tool.arguments, context.api().settings->limits.message_bytes_max, arguments);
  if (!problem.empty()) return SendResult(call, ResultOf(call, FailedCall(problem)));
  if (auto error = facades::CheckThread(context, arguments.thread_id)) {
    return SendFailedCall(call, *error);
  }
  api::GraphRequest request =
      AgentRun(context, arguments.thread_id, {Message::User(std::move(arguments.message))});
  const bool outlives_connection = !call.peer.session.empty();
  if (outlives_connection) return CallAgentInSession(call, tool, std::move(request));
  Perform(call, tool, std::move(request));
}

}  // namespace agent_graph::mcp

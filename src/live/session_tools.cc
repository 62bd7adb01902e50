// Session: tool calls of the model, and handover to another agent.
#include <algorithm>
#include <utility>

#include "live/events.h"
#include "live/session.h"
#include "live/transfer_tool.h"

namespace agent_graph::live {

void Session::OnToolCalls(std::vector<realtime::ToolCall> calls, Deadline now) {
  OnContent();
  conversation_.FinishOpenTranscript();
  conversation_.EndAnswerPart();
  RecordAnswer("tool_calls");
  turn_.Speak();
  const bool may_transfer = !ports_.HandoverTargets(agent()).empty();
  PendingCalls::Batch batch = calls_.Make(std::move(calls), may_transfer, link_.number());
  if (batch.calls.empty()) return TakeResults(batch, {}, now);
  for (const realtime::ToolCall& call : batch.calls) {
    ports_.Emit(ToolCallEvent(call.id, call.name, call.arguments_json));
  }
  conversation_.AddToolCalls(batch.calls);
  calls_.Add(batch);
  ports_.CallTools(std::move(batch.calls), batch.number);
}

void Session::OnToolReplies(std::vector<realtime::ToolReply> replies, std::vector<Message> messages,
                            uint64_t number, Deadline now) {
  for (Message& message : messages) conversation_.AddMessage(std::move(message));
  if (lifecycle_.closed()) return;
  for (const realtime::ToolReply& reply : replies) {
    ports_.Emit(ToolResultEvent(reply.id, reply.output_json));
  }
  const std::optional<PendingCalls::Batch> batch = calls_.Take(number);
  if (!batch) return;
  std::erase_if(replies,
                [&](const realtime::ToolReply& reply) { return !batch->HasCall(reply.id); });
  TakeResults(*batch, std::move(replies), now);
}

// The calls continue and the client gets their results, but the model does not.
void Session::OnToolsCancelled(const std::vector<realtime::ToolCall>& calls, Deadline now) {
  for (const PendingCalls::Batch& batch : calls_.Cancel(calls, link_.number())) {
    if (batch.transfer) TakeResults(batch, {}, now);
  }
}

void Session::TakeResults(const PendingCalls::Batch& batch,
                          std::vector<realtime::ToolReply> replies, Deadline now) {
  const bool current = MadeByCurrentLink(batch);
  if (!replies.empty()) {
    const std::string text = DescribeResults(batch.calls, replies);
    current ? conversation_.AddHistoryText(text) : unsent_results_.Add(text);
  }
  if (batch.transfer) {
    const std::string target = TransferTarget(*batch.transfer);
    const std::vector<std::string> targets = ports_.HandoverTargets(agent());
    if (std::ranges::find(targets, target) != targets.end()) {
      return HandOver(target, batch, std::move(replies), now);
    }
    replies.push_back({batch.transfer->id, batch.transfer->name,
                       R"({"error":"there is no agent with that name"})", true});
  }
  if (!current) return;
  turn_.ExpectAfterTools();
  link().SendToolReplies(replies);
}

// Sends unsent results as text when the model does not speak.
void Session::SendUnsentResults() {
  if (!link_.ready() || turn_.speaking() || unsent_results_.empty()) return;
  link().SendText(KeepUnsentResults());
}

// Puts unsent results into the history at the point where they are sent: after everything that was
// said before. Returns their text.
std::string Session::KeepUnsentResults() {
  if (unsent_results_.empty()) return "";
  std::string text = unsent_results_.Take();
  conversation_.StoreUnplayed();
  conversation_.AddHistoryText(text);
  turn_.Expect();
  return text;
}

// `replies` are the results of the other calls of the same batch.
void Session::HandOver(const std::string& target, const PendingCalls::Batch& batch,
                       std::vector<realtime::ToolReply> replies, Deadline now) {
  const bool current = MadeByCurrentLink(batch);
  // Ends the answer of the previous agent.
  if (!current && turn_.speaking()) OnTurnComplete(/*answer_due=*/false, now);
  conversation_.SetAgent(target);
  ports_.Emit(AgentChangedEvent(target));
  turn_.ExpectFromNewAgent();
  const realtime::LinkConfig config = ports_.Configure(target);
  now = ports_.Now();
  if (current && config.entry == entry_ && link().Reconfigure(config)) {
    if (next_link_.exists()) next_link_.Prepare(config);
    replies.push_back({batch.transfer->id, batch.transfer->name, R"({"result":"ok"})", false});
    return link().SendToolReplies(replies);
  }
  // The provider's session belongs to the previous agent.
  handle_.clear();
  next_link_.Drop();
  if (!current) return ReopenLink();
  // Some providers send a transcript late and do not announce it.
  const UserTranscript& transcript = conversation_.transcript();
  const bool late = audio_sent_ && !conversation_.has_question() && !transcript.open() &&
                    !conversation_.announces_transcripts();
  if (late) conversation_.AwaitTranscript(now + times_.handover_max);
  if (!transcript.expected()) return ReopenLink();
  // The transcript that led to the handover comes over the old link. Its pieces may wait unread
  // since Configure suspended the fiber, so an old deadline must not end the wait before they are
  // read.
  conversation_.ExtendWait(now + times_.handover_max);
  link_.HandOver(now + times_.handover_max);
}

}  // namespace agent_graph::live

// Session: tool calls of the model, and handover to another agent.
#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/text.h"
#include "live/events.h"
#include "live/session.h"

namespace agent_graph::live {
namespace {

// Limits of tool results that a model gets as text: arguments or result of one call, and all calls
// of a reply. They leave room for other messages in the history.
constexpr size_t kPartBytesMax = 16 * 1024;
constexpr size_t kWordsBytesMax = 128 * 1024;
constexpr size_t kUntoldBytesMax = 4 * kWordsBytesMax;  // results of several replies

std::string TransferTarget(const realtime::ToolCall& call) {
  Result<json> arguments = ParseJson(call.arguments_json);
  if (!arguments.ok() || !arguments->is_object()) return "";
  auto agent = arguments->find("agent");
  return agent != arguments->end() && agent->is_string() ? agent->get<std::string>() : "";
}

// Describes calls and results as text, for a model that did not make these calls or does not
// remember them.
std::string InWords(const std::vector<realtime::ToolCall>& calls,
                    const std::vector<realtime::ToolReply>& replies) {
  std::string text;
  for (const realtime::ToolReply& reply : replies) {
    if (!text.empty()) text.push_back('\n');
    text += "The tool " + reply.name;
    const auto call = std::ranges::find_if(calls, [&](const realtime::ToolCall& made) {
      return made.id == reply.id && made.name == reply.name;
    });
    if (call != calls.end()) {
      text += ", called with ";
      text += CutAtCharacter(call->arguments_json, kPartBytesMax);
      text += ",";
    }
    text += " returned ";
    text += CutAtCharacter(reply.output_json, kPartBytesMax);
  }
  return std::string(CutAtCharacter(text, kWordsBytesMax));
}

bool HasCall(const std::vector<realtime::ToolCall>& calls, const std::string& id) {
  return std::ranges::find(calls, id, &realtime::ToolCall::id) != calls.end();
}

}  // namespace

void Session::OnToolCalls(std::vector<realtime::ToolCall> calls, Deadline now) {
  OnContent();
  if (!input_expected_) FinishInput();
  StoreUnheard(std::nullopt);
  RecordAnswer("tool_calls");
  speaking_ = true;
  const bool may_transfer = !ports_.HandoverTargets(agent_).empty();
  RunningCalls running{.number = ++calls_number_, .link_number = link_number_};
  for (realtime::ToolCall& call : calls) {
    if (may_transfer && call.name == kTransferTool) {
      running.transfer = std::move(call);
    } else {
      running.calls.push_back(std::move(call));
    }
  }
  if (running.calls.empty()) return TakeResults(running, {}, now);
  Message message = Message::Assistant("");
  message.content.clear();
  for (const realtime::ToolCall& call : running.calls) {
    ports_.Emit(ToolCallEvent(call.id, call.name, call.arguments_json));
    message.content.emplace_back(ToolCallBlock{call.id, call.name, call.arguments_json});
  }
  message.metadata_json = Metadata(false, false);
  Keep({std::move(message)});
  running_.push_back(running);
  ports_.CallTools(std::move(running.calls), running.number);
}

void Session::OnToolReplies(std::vector<realtime::ToolReply> replies, std::vector<Message> messages,
                            uint64_t number, Deadline now) {
  for (Message& message : messages) Keep({std::move(message)});
  if (phase_ == Phase::kClosed) return;
  for (const realtime::ToolReply& reply : replies) {
    ports_.Emit(ToolResultEvent(reply.id, reply.output_json));
  }
  const auto found = std::ranges::find(running_, number, &RunningCalls::number);
  if (found == running_.end()) return;
  const RunningCalls done = std::move(*found);
  running_.erase(found);
  std::erase_if(replies,
                [&](const realtime::ToolReply& reply) { return !HasCall(done.calls, reply.id); });
  TakeResults(done, std::move(replies), now);
}

// The calls continue and the client gets their results, but the model does not.
void Session::OnToolsCancelled(const std::vector<realtime::ToolCall>& calls, Deadline now) {
  std::vector<RunningCalls> over;
  for (auto running = running_.begin(); running != running_.end();) {
    const bool present = IsPresent(running->link_number);
    const auto cancelled = [&](const realtime::ToolCall& call) {
      return present && HasCall(calls, call.id);
    };
    std::erase_if(running->calls, cancelled);
    if (running->transfer && cancelled(*running->transfer)) running->transfer.reset();
    if (running->calls.empty()) {
      over.push_back(std::move(*running));
      running = running_.erase(running);
    } else {
      ++running;
    }
  }
  for (const RunningCalls& done : over) {
    if (done.transfer) TakeResults(done, {}, now);
  }
}

void Session::TakeResults(const RunningCalls& done, std::vector<realtime::ToolReply> replies,
                          Deadline now) {
  const bool present = IsPresent(done.link_number);
  if (!replies.empty()) {
    const std::string words = InWords(done.calls, replies);
    if (present) {
      Keep({Message::User(words), /*in_thread=*/false});
    } else {
      untold_ += (untold_.empty() ? "" : "\n") + words;
      untold_.resize(CutAtCharacter(untold_, kUntoldBytesMax).size());
    }
  }
  if (done.transfer) {
    const std::string target = TransferTarget(*done.transfer);
    const std::vector<std::string> targets = ports_.HandoverTargets(agent_);
    if (std::ranges::find(targets, target) != targets.end()) {
      return HandOver(target, done, std::move(replies), now);
    }
    replies.push_back({done.transfer->id, done.transfer->name,
                       R"({"error":"there is no agent of that name"})", true});
  }
  if (!present) return;
  asked_at_ = kNoDeadline;
  speaking_ = false;
  answer_expected_ = true;
  ports_.link()->SendToolReplies(replies);
}

bool Session::ToolsRun() const {
  return std::ranges::any_of(
      running_, [this](const RunningCalls& calls) { return IsPresent(calls.link_number); });
}

// Sends pending results as text, because a provider refuses results of calls that its session did
// not make.
void Session::TellResults() {
  if (!ready_ || speaking_ || untold_.empty()) return;
  const std::string words = untold_;
  KeepUntold();
  ports_.link()->SendText(words);
}

// Puts pending results into the history at the point where they are sent: after everything that was
// said before.
void Session::KeepUntold() {
  if (untold_.empty()) return;
  StoreUnheard(std::nullopt);
  Keep({Message::User(std::exchange(untold_, {})), /*in_thread=*/false});
  answer_expected_ = true;
}

// `replies` are the results of the other calls of the same reply.
void Session::HandOver(const std::string& target, const RunningCalls& done,
                       std::vector<realtime::ToolReply> replies, Deadline now) {
  const bool present = IsPresent(done.link_number);
  // Ends the answer of the previous agent.
  if (!present && speaking_) OnTurnComplete(/*answer_due=*/false, now);
  agent_ = target;
  ports_.Emit(AgentChangedEvent(target));
  speaking_ = false;
  answer_expected_ = handed_over_ = true;
  const realtime::LinkConfig config = ports_.Configure(target);
  if (present && config.entry == entry_ && ports_.link()->Reconfigure(config)) {
    if (next_ != Next::kNone) Prepare();
    replies.push_back({done.transfer->id, done.transfer->name, R"({"result":"ok"})", false});
    return ports_.link()->SendToolReplies(replies);
  }
  // The provider's session belongs to the previous agent.
  handle_.clear();
  DropNext();
  if (!present) return Move(now);
  // Some providers send a transcript late and do not announce it.
  const bool unheard = sound_sent_ && Unanswered() == 0 && !input_.open();
  if (!input_expected_ && !announces_ && unheard) ExpectInput(now + times_.handover_max);
  if (!input_expected_) return Move(now);
  // The transcript that led to the handover is still expected over the old link.
  ready_ = false;
  rotate_at_ = kNoDeadline;
  moving_ = true;
  leave_until_ = now + times_.handover_max;
}

}  // namespace agent_graph::live

#include "facades/mcp/asking.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/json.h"
#include "base/own_json.h"
#include "base/sha256.h"
#include "facades/mcp/session.h"
#include "run/host/run_host.h"
#include "runtime/signal.h"
#include "state/runs.h"
#include "state/service.h"

namespace agent_graph::mcp {
namespace {

using std::chrono::milliseconds;

constexpr char kAnswerRoute[] = "mcp answer";
constexpr char kCancelledRoute[] = "mcp cancelled call";
constexpr std::string_view kCancelAnswer = R"({"action":"cancel"})";
constexpr std::chrono::hours kAnswerWaitMax{1};
constexpr milliseconds kFirstDelay{50};
constexpr milliseconds kDelayMax{1000};
constexpr milliseconds kCommentInterval{10'000};

std::string QuestionPurpose(const Peer& peer) {
  return "question " + peer.session;
}

int64_t KeptUntil() {
  return UnixMicros() + state::kRunKeyMicros;
}

// Looks for the answer until it is there. The state wakes no reader of a key, so it asks again.
Result<json> AwaitAnswer(const AskingCall& call, const std::string& key) {
  api::HandlerContext& context = call.context;
  const runtime::Cancellation& cancellation = context.exchange().cancellation();
  const Deadline deadline = DeadlineAfter(kAnswerWaitMax);
  Deadline next_comment = DeadlineAfter(kCommentInterval);
  runtime::Signal nobody;
  for (milliseconds delay = kFirstDelay; MonotonicClock::now() < deadline;
       delay = std::min(2 * delay, kDelayMax)) {
    const Result<state::KeyRecord> found =
        context.state().FindKey({context.caller().user_id, kAnswerRoute, key});
    if (found.ok()) return ParseJson(found->value, kOwnJsonLimits);
    if (found.status().code() != StatusCode::kNotFound) return found.status();
    AG_ASSIGN_OR_RETURN(const bool cancelled, IsCancelled(context, call.key));
    if (cancelled) return Status(StatusCode::kCancelled, "the client has cancelled the call");
    const run::RunHost* host = context.api().host;
    // A call that its client cannot resume in another worker waits until this one must exit.
    const Deadline leave_time =
        host != nullptr ? host->LeaveTime(call.resumable ? 0 : 1) : kNoDeadline;
    if (MonotonicClock::now() >= leave_time) {
      return Status(call.resumable ? StatusCode::kCancelled : StatusCode::kUnavailable,
                    "the server restarts: call the tool again");
    }
    if (MonotonicClock::now() >= next_comment) {
      AG_RETURN_IF_ERROR(call.writer.SendComment());
      next_comment = DeadlineAfter(kCommentInterval);
    }
    const runtime::WakeReason reason =
        nobody.Wait(&cancellation, std::min(DeadlineAfter(delay), leave_time));
    if (reason == runtime::WakeReason::kCancelled) {
      return Status(StatusCode::kCancelled, "the request has ended");
    }
  }
  return ParseJson(kCancelAnswer, kOwnJsonLimits);
}

}  // namespace

std::string CallKey(const Peer& peer, const std::string& id_json) {
  return Sha256Hex(peer.session + ' ' + id_json);
}

Status MarkCancelled(api::HandlerContext& context, const std::string& key) {
  return context.state()
      .ClaimKey({context.caller().user_id, {kCancelledRoute, key, ""}, "", KeptUntil()})
      .status();
}

Result<bool> IsCancelled(api::HandlerContext& context, const std::string& key) {
  const Status found =
      context.state().FindKey({context.caller().user_id, kCancelledRoute, key}).status();
  if (found.ok()) return true;
  if (found.code() == StatusCode::kNotFound) return false;
  return found;
}

Result<std::vector<json>> AskUser(const AskingCall& call, const std::vector<Question>& questions) {
  std::vector<json> answers;
  for (const Question& question : questions) {
    AG_ASSIGN_OR_RETURN(const std::string id, SealFor(call.context, QuestionPurpose(call.peer),
                                                      call.subject + ' ' + question.id));
    const std::string request = RequestMessage('"' + id + '"', "elicitation/create",
                                               ElicitationParams(question, call.peer));
    AG_RETURN_IF_ERROR(call.writer.Send(request));
    AG_ASSIGN_OR_RETURN(json answer, AwaitAnswer(call, Sha256Hex(id)));
    answers.push_back(std::move(answer));
  }
  return answers;
}

void TakeAnswer(api::HandlerContext& context, const Peer& peer, const RpcMessage& message) {
  const Result<json> id = ParseJson(message.id_json);
  if (!id.ok() || !id->is_string()) return SendAccepted(context);
  const std::string& text = id->get_ref<const std::string&>();
  const Result<std::optional<std::string>> asked = UnsealFor(context, QuestionPurpose(peer), text);
  if (!asked.ok()) return context.Fail(asked.status());
  if (!*asked) return SendAccepted(context);  // nothing was asked
  const bool answers = message.result != nullptr && IsAnswer(*message.result);
  const std::string value = answers ? DumpJson(*message.result) : std::string(kCancelAnswer);
  if (value.size() > state::kKeyValueBytesMax) {
    return SendError(context, kNoId, {kInvalidRequest, "result: the answer is too large", 400});
  }
  const Result<state::KeyRecord> kept = context.state().ClaimKey(
      {context.caller().user_id, {kAnswerRoute, Sha256Hex(text), ""}, value, KeptUntil()});
  if (!kept.ok()) return context.Fail(kept.status());
  SendAccepted(context);
}

}  // namespace agent_graph::mcp

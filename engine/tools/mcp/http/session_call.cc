#include "tools/mcp/http/session_call.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "runtime/runtime.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr std::chrono::milliseconds kAnswerTimeout{5'000};
constexpr std::chrono::milliseconds kOpenTimeout{2'000};
constexpr std::chrono::milliseconds kPlaceTimeout{1'000};

bool IsQuestion(const json& message) {
  return message["method"] == kElicit && message.contains("id");
}

}  // namespace

SessionCall::SessionCall(std::shared_ptr<const Transport> transport, ConnectionPtr connection,
                         int64_t id, SessionQuestions& questions, OtherMessage on_other)
    : transport_(std::move(transport)),
      connection_(std::move(connection)),
      id_(id),
      on_other_(std::move(on_other)),
      questions_(&questions) {}

void SessionCall::ListenBeside(const WaitOptions& wait) {
  const auto opened = std::make_shared<runtime::Signal>();
  runtime::Runtime::Current()->Spawn([self = shared_from_this(), opened] { self->Listen(opened); },
                                     /*here=*/true);
  (void)opened->Wait(&wait.cancellation, std::min(wait.deadline, DeadlineAfter(kOpenTimeout)));
}

void SessionCall::Listen(const std::shared_ptr<runtime::Signal>& opened) {
  const WaitOptions wait{ended_, kNoDeadline};
  StreamHandlers handlers;
  handlers.on_message = [&](const json& message, const StreamPlace&) {
    if (!IsQuestion(message)) {
      on_other_(message, wait);
      return true;
    }
    WaitForPlace(wait);
    if (!TakeQuestion(message, wait)) stop_.Cancel(runtime::CancelReason::kStopped);
    return true;
  };
  StreamPlace place;
  for (;;) {
    Result<Transport::Stream> stream = transport_->Get(*connection_, place.last_event_id, wait);
    opened->Notify();
    if (!stream.ok() || stream->head.status != 200 || !IsEventStream(stream->head)) return;
    if (!ReadEvents(*stream->call, std::nullopt, handlers, place).ok()) return;
    stream->call = nullptr;
    if (!runtime::SleepFor(ReopenDelay(place), &ended_).ok()) return;
  }
}

void SessionCall::WaitForPlace(const WaitOptions& wait) {
  {
    MutexLock lock(mutex_);
    if (!last_event_id_.empty()) return;
  }
  (void)placed_.Wait(&wait.cancellation, DeadlineAfter(kPlaceTimeout));
}

bool SessionCall::TakeQuestion(const json& request, const WaitOptions& wait) {
  json answer;
  {
    MutexLock lock(mutex_);
    if (questions_ == nullptr || questions_->paused()) {
      answer = MakeAnswer(request);
    } else {
      answer = questions_->Answer(
          request, {connection_->session_id, connection_->facts.revision, id_, last_event_id_});
    }
  }
  if (answer.is_null()) return false;
  // If the answer does not arrive, the server must time out.
  (void)transport_->Send(
      *connection_, answer,
      {wait.cancellation, std::min(wait.deadline, DeadlineAfter(kAnswerTimeout))});
  return true;
}

StreamHandlers SessionCall::Handlers(ReplyMemory* memory, const WaitOptions& wait) {
  StreamHandlers handlers;
  handlers.memory = memory;
  handlers.on_message = [this, &wait](const json& message, const StreamPlace&) {
    if (IsQuestion(message)) return TakeQuestion(message, wait);
    on_other_(message, wait);
    return true;
  };
  handlers.on_place = [this](const StreamPlace& place) {
    MutexLock lock(mutex_);
    last_event_id_ = place.last_event_id;
    placed_.Notify();
  };
  return handlers;
}

template <typename Read>
Result<HttpReply> SessionCall::WhileWaiting(const WaitOptions& wait, Read read) {
  const auto link = wait.cancellation.OnCancel(
      [stop = stop_, caller = wait.cancellation] { stop.Cancel(caller.reason()); });
  const WaitOptions own{stop_, wait.deadline};
  Result<HttpReply> reply = read(own);
  ended_.Cancel(runtime::CancelReason::kStopped);
  MutexLock lock(mutex_);
  const bool paused = std::exchange(questions_, nullptr)->paused();
  if (paused) return HttpReply{.status = 200, .session_id = {}, .rpc = {.stopped = true}};
  return reply;
}

Result<HttpReply> SessionCall::Make(const Outgoing& outgoing, const WaitOptions& wait) {
  return WhileWaiting(wait, [&](const WaitOptions& own) {
    return transport_->Request(connection_.get(), id_, outgoing, Handlers(outgoing.memory, own),
                               own);
  });
}

Result<HttpReply> SessionCall::ContinueCall(const Continuation& place, const json& answer,
                                            ReplyMemory* memory, const WaitOptions& wait) {
  return WhileWaiting(wait, [&](const WaitOptions& own) -> Result<HttpReply> {
    const json message = {{"jsonrpc", "2.0"}, {"id", place.question_id}, {"result", answer}};
    if (Status sent = transport_->Send(*connection_, message, own); !sent.ok()) {
      if (sent.code() != StatusCode::kUnavailable) return sent;
      return Status(StatusCode::kUnavailable,
                    "the call was lost while the user was asked: " + sent.message());
    }
    StreamPlace from;
    from.last_event_id = place.last_event_id;
    HttpReply reply;
    reply.status = 200;
    AG_ASSIGN_OR_RETURN(reply.rpc, transport_->Resume(*connection_, id_, std::move(from),
                                                      Handlers(memory, own), own));
    return reply;
  });
}

}  // namespace agent_graph::tools::mcp

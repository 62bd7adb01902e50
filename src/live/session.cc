#include "live/session.h"

#include <algorithm>
#include <utility>

#include "live/events.h"
#include "websocket/protocol.h"

namespace agent_graph::live {
namespace {

// A link gets more frames only while fewer bytes than this wait for its network.
constexpr size_t kUnsentMax = 64 * 1024;

}  // namespace

Session::Session(SessionPorts& ports, Options options)
    : ports_(ports),
      times_(options.times),
      next_link_(ports),
      reconnects_(times_),
      handle_(std::move(options.resumption_handle)),
      conversation_(ports, times_, std::move(options.agent), std::move(options.history)) {}

void Session::Start() {
  OpenLink();
}

void Session::Advance(Deadline now) {
  if (lifecycle_.closed()) return;
  conversation_.Advance(now);
  AdvanceLink(now);
  if (lifecycle_.closed()) return;
  Forward(now);
  if (lifecycle_.draining() && Drained(now)) return Close(lifecycle_.closing());
  if (!ToolsRun()) turn_.StartClock(now);
}

Deadline Session::wake_at() const {
  const Deadline replace_at = ReplacementAllowed() ? link_.replace_at() : kNoDeadline;
  return std::min({lifecycle_.wake_at(), link_.deadline(), replace_at, conversation_.wake_at(),
                   unheard_until()});
}

// --- the client -------------------------------------------------------------------------------

void Session::OnFrame(UpstreamFrame frame, Deadline now) {
  if (!lifecycle_.running()) return;
  if (frame.kind == UpstreamFrame::Kind::kClose) return DrainForClient(now);
  frame.arrived = now;
  counters_.frames_dropped += upstream_.Push(std::move(frame), ports_.UpstreamBytesMax());
}

void Session::DrainForClient(Deadline now) {
  Drain(now, websocket::close_code::kNormal, "closed", Outcome::kOk);
}

void Session::OnDisconnect(Deadline now) {
  DrainForClient(now);
  if (lifecycle_.draining()) lifecycle_.LoseClient(now);
}

void Session::OnLeave(Deadline now) {
  Drain(now, websocket::close_code::kGoingAway, "server reload", Outcome::kShutdown);
}

void Session::Forward(Deadline now) {
  SendUnsentResults();
  while (link_.ready() && !upstream_.empty() && link().unsent_bytes() < kUnsentMax) {
    const UpstreamFrame frame = *upstream_.Pop();
    ++counters_.frames_forwarded;
    counters_.forward_micros += static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now - frame.arrived).count());
    Send(frame);
  }
}

void Session::Send(const UpstreamFrame& frame) {
  realtime::Link& model = link();
  switch (frame.kind) {
    case UpstreamFrame::Kind::kAudio:
      audio_sent_ = true;
      return model.SendAudio(frame.payload);
    case UpstreamFrame::Kind::kText:
      turn_.speaking() ? OnInterrupted() : InterruptPlayback();
      conversation_.AddUserText(frame.payload);
      turn_.Expect();
      return model.SendText(frame.payload);
    case UpstreamFrame::Kind::kActivityStart:
      activity_begun_ = model.SendActivity(true) || activity_begun_;
      return;
    case UpstreamFrame::Kind::kActivityEnd:
      activity_begun_ = false;
      if (model.SendActivity(false)) turn_.Expect();
      return;
    case UpstreamFrame::Kind::kClose:
      return;
  }
}

// --- the model --------------------------------------------------------------------------------

void Session::OnLinkEvent(realtime::Event event, Deadline now) {
  using Kind = realtime::Event::Kind;
  if (lifecycle_.closed()) return;
  if (link_.departing()) return OnDepartingLinkEvent(event, now);
  switch (event.kind) {
    case Kind::kPrepared:
      return;
    case Kind::kReady:
      return OnReady(now);
    case Kind::kSpeechStarted:
      return OnSpeechStarted();
    case Kind::kNothingAsked:
      return turn_.CancelExpected();
    case Kind::kInputExpected:
      conversation_.AnnounceTranscript(now);
      return turn_.Expect();
    case Kind::kInputTranscript:
      return OnInputTranscript(event, now);
    case Kind::kOutputTranscript:
      OnContent();
      turn_.Speak();
      return conversation_.AddAnswerText(event);
    case Kind::kAudio:
      return OnAudio(std::move(event.text));
    case Kind::kToolCalls:
      return OnToolCalls(std::move(event.calls), now);
    case Kind::kToolsCancelled:
      return OnToolsCancelled(event.calls, now);
    case Kind::kTurnComplete:
      return OnTurnComplete(event.answer_due, now);
    case Kind::kInterrupted:
      return OnInterrupted();
    case Kind::kResumption:
      return OnResumption(event.text);
    case Kind::kGoAway:
      return OnGoAway(event.time_left, now);
    case Kind::kError:
      return ports_.Emit(ErrorEvent(event.code, event.text, false));
    case Kind::kClosed:
      return OnClosed(event, now);
  }
}

// --- the end ----------------------------------------------------------------------------------

void Session::Drain(Deadline now, uint16_t code, std::string reason, Outcome outcome) {
  if (!lifecycle_.running()) return;
  lifecycle_.Drain(now + times_.drain_max, {code, std::move(reason), outcome});
  if (!link_.departing()) next_link_.Drop();
}

// Returns true when the session may end: first the frames in the queue are sent, then the remaining
// answers of the model are received.
bool Session::Drained(Deadline now) {
  if (lifecycle_.expired(now) || now >= unheard_until()) return true;
  lifecycle_.Advance(now);
  if (!link_.ready()) {
    const bool something_left = !upstream_.empty() || AnswerDue() || audio_sent_;
    return link_.phase() == LinkPhase::Phase::kAbsent || !something_left;
  }
  if (!upstream_.empty()) return false;
  if (lifecycle_.step() == Lifecycle::Step::kSending) {
    if (audio_sent_ || activity_begun_) {
      lifecycle_.Listen(now + times_.drain_quiet);
      link().EndAudio();
      return false;
    }
    lifecycle_.AwaitAnswers();
  }
  return lifecycle_.step() == Lifecycle::Step::kAnswering && !AnswerDue() &&
         !conversation_.transcript().expected();
}

Deadline Session::unheard_until() const {
  if (!lifecycle_.draining() || !link_.ready()) return kNoDeadline;
  const Deadline gone = lifecycle_.client_lost_at(), due = turn_.due_since();
  if (gone == kNoDeadline || due == kNoDeadline) return kNoDeadline;
  return std::max(gone, due) + times_.unheard_max;
}

void Session::Fail(const std::string& code, const std::string& message, uint16_t close_code) {
  if (lifecycle_.closed()) return;
  conversation_.EndTranscripts();
  ports_.EmitLast(ErrorEvent(code, message, true));
  Close({close_code, code, OutcomeOfError(close_code)});
}

void Session::Close(Closing closing) {
  lifecycle_.Close();
  conversation_.Close();
  next_link_.Drop();
  link_.Close();
  ports_.CloseLink();
  ports_.Close(std::move(closing));
}

}  // namespace agent_graph::live

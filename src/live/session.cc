#include "live/session.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "live/events.h"
#include "websocket/protocol.h"

namespace agent_graph::live {

using std::chrono::milliseconds;

namespace {

// A link gets more frames only while fewer bytes than this wait for its network.
constexpr size_t kUnsentMax = 64 * 1024;

}  // namespace

Session::Session(SessionPorts& ports, Options options)
    : ports_(ports),
      times_(options.times),
      agent_(std::move(options.agent)),
      history_(std::move(options.history)),
      handle_(std::move(options.resumption_handle)) {
  TrimHistory();
}

void Session::Start(Deadline now) {
  Open(now);
}

void Session::Enter(Phase phase) {
  AG_CHECK(phase > phase_, "a session runs, drains and closes, and never goes back");
  phase_ = phase;
}

void Session::OnFrame(UpstreamFrame frame, Deadline now) {
  if (phase_ != Phase::kRunning) return;
  if (frame.kind == UpstreamFrame::Kind::kClose) {
    return Drain(now, websocket::close_code::kNormal, "closed");
  }
  frame.arrived = now;
  counters_.frames_dropped += upstream_.Push(std::move(frame), ports_.UpstreamBytesMax());
}

void Session::OnDisconnect(Deadline now) {
  Drain(now, websocket::close_code::kNormal, "closed");
}

void Session::OnLeave(Deadline now) {
  Drain(now, websocket::close_code::kGoingAway, "server reload");
}

void Session::Drain(Deadline now, uint16_t code, std::string reason) {
  if (phase_ != Phase::kRunning) return;
  Enter(Phase::kDraining);
  drain_until_ = now + times_.drain_max;
  rotate_at_ = kNoDeadline;
  if (!leaving()) DropNext();
  close_code_ = code;
  close_reason_ = std::move(reason);
}

// First the frames in the queue are sent, then the remaining answers of the model are received.
bool Session::Drained(Deadline now) {
  if (now >= drain_until_) return true;
  if (now >= quiet_until_) quiet_until_ = kNoDeadline;
  const bool something_left = !upstream_.empty() || AnswerDue() || sound_sent_;
  if (!ready_) {
    const bool connecting =
        leaving() || ready_until_ != kNoDeadline || reconnect_at_ != kNoDeadline;
    return !connecting || !something_left;
  }
  if (!upstream_.empty()) return false;
  AG_CHECK(ports_.link() != nullptr, "a session that is ready has a link");
  if (!std::exchange(audio_ended_, true) && (sound_sent_ || activity_)) {
    quiet_until_ = now + times_.drain_quiet;
    ports_.link()->EndAudio();
    return false;
  }
  return !AnswerDue() && !input_expected_ && quiet_until_ == kNoDeadline;
}

void Session::Forward(Deadline now) {
  if (phase_ == Phase::kClosed) return;
  TellResults();
  realtime::Link* link = ports_.link();
  while (ready_ && link != nullptr && !upstream_.empty() && link->unsent_bytes() < kUnsentMax) {
    const UpstreamFrame frame = *upstream_.Pop();
    ++counters_.frames_forwarded;
    counters_.forward_micros += static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(now - frame.arrived).count());
    Send(frame);
  }
  if (phase_ == Phase::kDraining && Drained(now)) {
    Finish(close_code_, close_reason_,
           close_code_ == websocket::close_code::kNormal ? "ok" : "shutdown");
  }
}

void Session::Send(const UpstreamFrame& frame) {
  realtime::Link& link = *ports_.link();
  switch (frame.kind) {
    case UpstreamFrame::Kind::kAudio:
      sound_sent_ = true;
      return link.SendAudio(frame.payload);
    case UpstreamFrame::Kind::kText:
      if (speaking_) OnInterrupted();
      FinishInput();
      StoreUnheard(std::nullopt);
      answer_expected_ = true;
      Keep({Message::User(frame.payload)});
      return link.SendText(frame.payload);
    case UpstreamFrame::Kind::kActivityStart:
      activity_ = link.SendActivity(true) || activity_;
      return;
    case UpstreamFrame::Kind::kActivityEnd:
      activity_ = false;
      if (link.SendActivity(false)) answer_expected_ = true;
      return;
    case UpstreamFrame::Kind::kClose:
      return;
  }
}

void Session::OnLinkEvent(realtime::Event event, Deadline now) {
  using Kind = realtime::Event::Kind;
  if (phase_ == Phase::kClosed) return;
  if (leaving()) return OnLeftLinkEvent(event, now);
  switch (event.kind) {
    case Kind::kPrepared:
      return;
    case Kind::kReady:
      return OnReady(now);
    case Kind::kSpeechStarted:
      return OnSpeechStarted();
    case Kind::kNothingAsked:
      return OnNothingAsked();
    case Kind::kInputExpected:
      return OnInputExpected(now);
    case Kind::kInputTranscript:
      return OnInputTranscript(event, now);
    case Kind::kOutputTranscript:
      return OnOutputTranscript(event);
    case Kind::kAudio:
      OnContent();
      speaking_ = true;
      turn_audio_ += milliseconds(event.text.size() / 2 * 1000 / realtime::kOutputRate);
      return ports_.EmitAudio(std::move(event.text));
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

// --- turns ------------------------------------------------------------------------------------

void Session::OnSpeechStarted() {
  OnContent();
  answer_expected_ = true;
  // The answer was complete, but not fully played.
  if (!speaking_ && unheard_ && ports_.Unplayed() > milliseconds(0)) {
    const milliseconds heard = std::max(unheard_->audio - ports_.Unplayed(), milliseconds(0));
    if (realtime::Link* link = ports_.link()) link->Truncate(heard);
    ports_.FlushAudio();
    StoreUnheard(heard);
    ports_.Emit(InterruptedEvent());
  }
}

void Session::OnNothingAsked() {
  answer_expected_ = handed_over_ = false;
  if (!speaking_) asked_at_ = kNoDeadline;
}

void Session::OnInputExpected(Deadline now) {
  if (awaited_ == 0) FinishInput();
  StoreUnheard(std::nullopt);
  if (awaited_ > 0) Keep({.message = {}, .in_thread = false, .words = true});
  if (++awaited_ == 1) ExpectInput(now + times_.words_max);
  announces_ = answer_expected_ = true;
}

void Session::ExpectInput(Deadline until) {
  input_.Expect();
  input_expected_ = true;
  input_until_ = until;
}

void Session::OnInputTranscript(const realtime::Event& event, Deadline now) {
  OnContent();
  if (awaited_ > event.later + 1) {
    if (event.finished) FillPlace(awaited_ - 1 - event.later, event.text);
    return;
  }
  if (!input_expected_ && !input_.open() && !speaking_ && now < asking_until_) ExpectInput(now);
  if (input_expected_) {
    input_until_ = std::max(input_until_, now + times_.words_pause);
  } else if (!speaking_ && !event.finished && !announces_) {
    answer_expected_ = true;  // other utterances set it when their audio arrived
  }
  if (event.finished) {
    const std::string rest = input_.FinishPart(event.text, milliseconds(0));
    if (!rest.empty()) ports_.Emit(InputTranscriptEvent(rest, false));
    return FinishUtterance(now);
  }
  const std::string_view piece = input_.Add(event.text, milliseconds(0));
  if (!piece.empty()) ports_.Emit(InputTranscriptEvent(piece, false));
}

void Session::OnOutputTranscript(const realtime::Event& event) {
  OnContent();
  speaking_ = true;
  std::string rest;
  std::string_view piece;
  if (event.finished) {
    rest = output_.FinishPart(event.text, turn_audio_);
    piece = rest;
  } else {
    piece = output_.Add(event.text, turn_audio_);
  }
  if (piece.empty()) return;
  output_shown_ = true;
  ports_.Emit(OutputTranscriptEvent(piece, false));
}

void Session::RecordAnswer(std::string_view stop_reason) {
  if (asked_at_ == kNoDeadline && !speaking_) return;
  ports_.RecordAnswer(std::exchange(asked_at_, kNoDeadline), stop_reason);
}

void Session::OnTurnComplete(bool answer_due, Deadline now) {
  OnContent();
  // The end of an answer that was interrupted: the user is still speaking.
  if (answer_due && !speaking_) return ports_.Emit(TurnCompleteEvent());
  const bool asked = answer_expected_ || input_.open();
  if (!input_expected_) FinishInput();
  RecordAnswer("stop");
  // Some providers send a transcript late and do not announce it.
  asking_until_ = asked ? Deadline() : now + times_.words_after_answer;
  speaking_ = sound_sent_ = handed_over_ = false;
  answer_expected_ = answer_due;
  if (std::exchange(output_shown_, false)) ports_.Emit(OutputTranscriptEvent("", true));
  StoreUnheard(std::nullopt);
  const milliseconds audio = std::exchange(turn_audio_, milliseconds(0));
  unheard_ = Unheard{std::exchange(output_, {}), audio, now + ports_.Unplayed()};
  if (unheard_->heard_at <= now) StoreUnheard(std::nullopt);
  ports_.Emit(TurnCompleteEvent());
}

void Session::OnInterrupted() {
  OnContent();
  if (!speaking_ && turn_audio_ == milliseconds(0) && output_.text().empty()) return;
  if (!input_expected_) FinishInput();
  RecordAnswer("interrupted");
  const milliseconds audio = std::exchange(turn_audio_, milliseconds(0));
  const milliseconds heard = std::max(audio - ports_.Unplayed(), milliseconds(0));
  if (realtime::Link* link = ports_.link()) link->Truncate(heard);
  ports_.FlushAudio();
  if (std::exchange(output_shown_, false)) ports_.Emit(OutputTranscriptEvent("", true));
  if (audio > milliseconds(0)) output_.Cut(heard);
  StoreUnheard(std::nullopt);
  StoreAnswer({output_.Take(), audio > milliseconds(0), /*interrupted=*/true});
  ports_.Emit(InterruptedEvent());
  speaking_ = handed_over_ = false;
  answer_expected_ = true;
}

}  // namespace agent_graph::live

// Session: the link to the provider, its replacement when the provider announces its end, and
// reconnection after a loss.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "live/events.h"
#include "live/session.h"
#include "websocket/protocol.h"

namespace agent_graph::live {

using std::chrono::milliseconds;

// Opens a link: the prepared one if there is one.
void Session::Open(Deadline now) {
  AG_CHECK(phase_ != Phase::kClosed, "a session that has ended opens no link");
  FinishInput();  // another link does not tell these words
  ready_ = moving_ = announces_ = false;
  reconnect_at_ = rotate_at_ = leave_until_ = proven_at_ = kNoDeadline;
  ready_until_ = now + times_.ready_max;
  ++link_number_;
  realtime::LinkConfig config = ports_.Configure(agent_);
  entry_ = config.entry;
  TellLink(config);
  if (std::exchange(next_, Next::kNone) == Next::kNone) return ports_.OpenLink(config);
  ports_.BeginNextLink(config);
}

// Configures the link with the part of the history that the provider does not know, and sets
// whether it must answer. It does not answer audio without a transcript, and it answers without a
// question only if an agent takes over.
void Session::TellLink(realtime::LinkConfig& config) {
  KeepUntold();
  handle_in_use_ = !handle_.empty() && ports_.LinksResume();
  const size_t unknown = handle_in_use_ ? std::min(unknown_, history_.size()) : history_.size();
  answer_expected_ = answer_expected_ && (handed_over_ || std::min(unknown, Unanswered()) > 0);
  if (!answer_expected_) asked_at_ = kNoDeadline;
  config.respond = answer_expected_;
  if (handle_in_use_) config.resumption_handle = handle_;
  // A provider that resumes continues from its handle and does not need the rest.
  if (handle_in_use_ && !answer_expected_) return;
  config.history.assign(history_.end() - static_cast<std::ptrdiff_t>(unknown), history_.end());
  // The client is still playing this answer.
  if (unheard_ && !unheard_->utterance.text().empty()) {
    config.history.push_back(Message::Assistant(unheard_->utterance.text()));
  }
}

// Returns the number of messages since the last answer.
size_t Session::Unanswered() const {
  const auto answer = std::find_if(history_.rbegin(), history_.rend(), [](const Message& message) {
    return message.role != Role::kUser;
  });
  return static_cast<size_t>(answer - history_.rbegin());
}

void Session::OnReady(Deadline now) {
  ready_ = true;
  ready_until_ = kNoDeadline;
  proven_at_ = now + times_.proven_after;
}

// The provider works: resets the count of failures.
void Session::OnContent() {
  failures_ = 0;
}

void Session::OnResumption(const std::string& handle) {
  if (handle.empty() || handle.size() > kHandleBytesMax || handle == handle_) return;
  handle_ = handle;
  // The handle may be older than a question that is being sent. Sending that question twice is
  // better than losing it.
  unknown_ = answer_expected_ ? Unanswered() : 0;
  ports_.StoreHandle(handle);
}

void Session::OnHandleStored(const std::string& handle) {
  if (phase_ != Phase::kClosed) ports_.Emit(SessionUpdateEvent(handle));
}

// --- a link that will go ----------------------------------------------------------------------

void Session::OnGoAway(milliseconds time_left, Deadline now) {
  std::string text = std::to_string(time_left.count() / 1000);
  if (const auto rest = time_left.count() % 1000; rest != 0) {
    text.push_back('.');
    text += std::to_string(1000 + rest).substr(1);
  }
  ports_.Emit(GoAwayEvent(text + "s"));
  if (phase_ != Phase::kRunning) return;
  const bool told_before = rotate_at_ != kNoDeadline;
  rotate_at_ = now + std::max(time_left - times_.go_away_margin, milliseconds(0));
  if (!told_before) Prepare();
}

void Session::Prepare() {
  AG_CHECK(phase_ != Phase::kClosed, "a session that has ended prepares no link");
  next_ = Next::kConnecting;
  ports_.PrepareNextLink(ports_.Configure(agent_));
}

void Session::DropNext() {
  if (std::exchange(next_, Next::kNone) != Next::kNone) ports_.DropNextLink();
}

void Session::OnNextLinkEvent(const realtime::Event& event) {
  if (next_ == Next::kNone) return;
  if (event.kind == realtime::Event::Kind::kPrepared) {
    next_ = Next::kPrepared;
  } else if (event.kind == realtime::Event::Kind::kClosed) {
    ports_.Warn("the next connection to the realtime provider: " + event.text);
    DropNext();
  }
}

// True between two turns when the next link is prepared, and in any case shortly before the
// provider closes the link.
bool Session::RotationDue(Deadline now) const {
  if (!MayRotate()) return false;
  const bool between_turns = !AnswerDue() && !input_expected_;
  return now >= rotate_at_ || (between_turns && next_ != Next::kConnecting);
}

void Session::Rotate(Deadline now) {
  if (speaking_) OnTurnComplete(/*answer_due=*/false, now);
  ready_ = false;
  rotate_at_ = kNoDeadline;
  ++counters_.reconnects;
  if (!ports_.OneLinkAtATime()) return Replace(now);
  leave_until_ = now + times_.leave_max;
  AG_CHECK(ports_.link() != nullptr, "a session that is ready has a link");
  ports_.link()->Leave();
}

// Handles an event of a link that is being left. Only its handle and its transcripts still matter.
void Session::OnLeftLinkEvent(const realtime::Event& event, Deadline now) {
  using Kind = realtime::Event::Kind;
  if (event.kind == Kind::kResumption && !moving_) OnResumption(event.text);
  if (event.kind == Kind::kInputTranscript) {
    OnInputTranscript(event, now);
    if (moving_ && input_expected_ && awaited_ == 0) input_until_ = now + times_.words_pause;
  }
  if (moving_) {
    if (event.kind == Kind::kClosed || !input_expected_) Move(now);
  } else if (event.kind == Kind::kClosed) {
    Replace(now);
  }
}

// Moves to a link for the agent that took over.
void Session::Move(Deadline now) {
  ports_.CloseLink();
  Open(now);
}

void Session::Replace(Deadline now) {
  leave_until_ = kNoDeadline;
  ports_.CloseLink();
  if (!CountFailure(now, "it sends its clients away")) return;
  // Wait before reconnecting if the provider closes links repeatedly.
  if (failures_ > 1) {
    reconnect_at_ = now + Pause();
  } else {
    Open(now);
  }
}

// --- a link that is lost ----------------------------------------------------------------------

void Session::OnClosed(const realtime::Event& event, Deadline now) {
  ports_.Warn("connection to the realtime provider: " + event.text);
  const bool was_connecting = !ready_;
  ready_ = false;
  ready_until_ = rotate_at_ = kNoDeadline;
  ports_.CloseLink();
  // The rest of the answer is lost; the part that arrived is kept.
  if (speaking_) OnTurnComplete(/*answer_due=*/false, now);
  if (phase_ == Phase::kDraining && upstream_.empty() && !AnswerDue()) return;
  if (!event.retry) {
    return Fail(event.code.empty() ? "provider_error" : event.code, event.text,
                websocket::close_code::kInternal);
  }
  // A handle that was not accepted is not used again.
  if (was_connecting && handle_in_use_ && event.connected) handle_.clear();
  if (!CountFailure(now, event.text)) return;
  const bool at_once = next_ != Next::kNone && failures_ == 1;
  reconnect_at_ = at_once ? now : now + Pause();
  ++counters_.reconnects;
}

// Returns false if the maximum of failures is reached: the session has then failed.
bool Session::CountFailure(Deadline now, const std::string& reason) {
  if (now >= proven_at_) failures_ = 0;
  proven_at_ = kNoDeadline;
  if (failures_ >= times_.reconnects_max) {
    Fail("reconnect_failed", "the provider could not be reached: " + reason,
         websocket::close_code::kInternal);
    return false;
  }
  ++failures_;
  return true;
}

// Time to wait before the next attempt; doubles with each failure.
milliseconds Session::Pause() const {
  return std::min(times_.reconnect_first * (1 << (failures_ - 1)), times_.reconnect_last);
}

}  // namespace agent_graph::live

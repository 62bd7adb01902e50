// Session: the link to the provider, its replacement when the provider announces its end, and
// reconnection after a loss.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "live/events.h"
#include "live/session.h"
#include "live/thread_memory.h"
#include "websocket/protocol.h"

namespace agent_graph::live {

using std::chrono::milliseconds;

realtime::Link& Session::link() {
  realtime::Link* open = ports_.link();
  AG_CHECK(open != nullptr, "a link that is connecting, ready or departing is open");
  return *open;
}

// Opens a link: the prepared one if there is one.
void Session::OpenLink() {
  AG_CHECK(!lifecycle_.closed(), "a session that has ended opens no link");
  conversation_.OnNewLink();
  realtime::LinkConfig config = ComposeLink();
  entry_ = config.entry;
  link_.Connect(ports_.Now() + times_.ready_max, /*resumed=*/!config.resumption_handle.empty());
  if (next_link_.exists()) return next_link_.Begin(config);
  ports_.OpenLink(config);
}

// Configures a link with the part of the history that the provider does not know, and sets whether
// it must answer. It does not answer audio without a transcript, and it answers without a question
// only if an agent takes over.
realtime::LinkConfig Session::ComposeLink() {
  realtime::LinkConfig config = ports_.Configure(conversation_.agent());
  (void)KeepUnsentResults();
  const History& history = conversation_.history();
  const bool resume = !handle_.empty() && ports_.LinksResume();
  const size_t unknown = resume ? history.uncovered() : history.size();
  const bool question = std::min(unknown, history.Unanswered()) > 0;
  if (!turn_.handed_over() && !question) turn_.CancelExpected();
  config.respond = turn_.expected();
  if (resume) config.resumption_handle = handle_;
  // A provider that resumes continues from its handle and does not need the rest.
  if (resume && !config.respond) return config;
  config.history = history.Latest(unknown);
  // The client is still playing this answer.
  const Answer* unplayed = conversation_.unplayed();
  if (unplayed != nullptr && !unplayed->text().empty()) {
    config.history.push_back(Message::Assistant(unplayed->text()));
  }
  return config;
}

// Performs what the deadline of the link's phase requires.
void Session::AdvanceLink(Deadline now) {
  using Link = LinkPhase::Phase;
  if (link_.phase() == Link::kConnecting && link_.due(now)) {
    OnClosed({.kind = realtime::Event::Kind::kClosed,
              .text = "the provider did not accept the session in time"},
             now);
    if (lifecycle_.closed()) return;
  }
  switch (link_.phase()) {
    case Link::kWaiting:
      if (link_.due(now)) OpenLink();
      break;
    case Link::kHandingOver:
      if (link_.due(now) || !conversation_.transcript().expected()) ReopenLink();
      break;
    case Link::kLeaving:
      if (link_.due(now)) ReplaceLink(now);
      break;
    case Link::kReady:
      if (ReplacementDue(now)) LeaveLink(now);
      break;
    case Link::kAbsent:
    case Link::kConnecting:
      break;
  }
}

void Session::OnReady(Deadline now) {
  link_.Accept(now + times_.proven_after);
}

void Session::OnResumption(const std::string& handle) {
  if (handle.empty() || handle.size() > kHandleBytesMax || handle == handle_) return;
  handle_ = handle;
  // The handle may be older than a question that is being sent. Sending that question twice is
  // better than losing it.
  History& history = conversation_.history();
  history.SetUncovered(turn_.expected() ? history.Unanswered() : 0);
  ports_.StoreHandle(handle);
}

void Session::OnHandleStored(const std::string& handle) {
  if (!lifecycle_.closed()) ports_.Emit(SessionUpdateEvent(handle));
}

// --- a link whose end the provider has announced ----------------------------------------------

void Session::OnGoAway(milliseconds time_left, Deadline now) {
  std::string text = std::to_string(time_left.count() / 1000);
  if (const auto rest = time_left.count() % 1000; rest != 0) {
    text.push_back('.');
    text += std::to_string(1000 + rest).substr(1);
  }
  ports_.Emit(GoAwayEvent(text + "s"));
  if (!lifecycle_.running()) return;
  const milliseconds usable = std::max(time_left - times_.go_away_margin, milliseconds(0));
  if (!link_.AnnounceEnd(now + usable)) return;
  next_link_.Prepare(ports_.Configure(conversation_.agent()));
  // Pieces of a transcript may wait unread since Configure suspended the fiber.
  if (conversation_.transcript().expected()) {
    conversation_.ExtendWait(ports_.Now() + times_.transcript_pause);
  }
}

void Session::OnNextLinkEvent(const realtime::Event& event) {
  if (!next_link_.exists()) return;
  if (event.kind == realtime::Event::Kind::kPrepared) {
    next_link_.OnPrepared();
  } else if (event.kind == realtime::Event::Kind::kClosed) {
    ports_.Warn("the next connection to the realtime provider was closed: " + event.text);
    next_link_.Drop();
  }
}

// A session that drains keeps its link: it may end before the provider closes the link.
bool Session::ReplacementAllowed() const {
  return lifecycle_.running() && link_.replace_at() != kNoDeadline;
}

// True between two turns when the next link is prepared, and in any case shortly before the
// provider closes the link.
bool Session::ReplacementDue(Deadline now) const {
  if (!ReplacementAllowed()) return false;
  const bool between_turns = !AnswerDue() && !conversation_.transcript().expected();
  return now >= link_.replace_at() ||
         (between_turns && next_link_.phase() != NextLink::Phase::kConnecting);
}

void Session::LeaveLink(Deadline now) {
  if (turn_.speaking()) OnTurnComplete(/*answer_due=*/false, now);
  ++counters_.reconnects;
  if (!ports_.OneLinkAtATime()) return ReplaceLink(now);
  link_.Leave(now + times_.leave_max);
  link().Leave();
}

// Handles an event of a link that is being left. Only its handle and its transcripts still matter.
void Session::OnDepartingLinkEvent(const realtime::Event& event, Deadline now) {
  using Kind = realtime::Event::Kind;
  const bool closed = event.kind == Kind::kClosed;
  if (event.kind == Kind::kInputTranscript) OnInputTranscript(event, now);
  if (link_.phase() == LinkPhase::Phase::kHandingOver) {
    if (event.kind == Kind::kInputTranscript) conversation_.ShortenWait(now);
    if (closed || !conversation_.transcript().expected()) ReopenLink();
    return;
  }
  if (event.kind == Kind::kResumption) OnResumption(event.text);
  if (closed) ReplaceLink(now);
}

// Opens a link for the agent that took over.
void Session::ReopenLink() {
  ports_.CloseLink();
  OpenLink();
}

void Session::ReplaceLink(Deadline now) {
  ports_.CloseLink();
  if (!CountFailure(now, "it closes connections repeatedly")) return;
  // Wait before reconnecting if the provider closes links repeatedly.
  if (reconnects_.failures() > 1) return link_.Wait(now + reconnects_.pause());
  OpenLink();
}

// --- a link that is lost ----------------------------------------------------------------------

void Session::OnClosed(const realtime::Event& event, Deadline now) {
  ports_.Warn("the connection to the realtime provider was closed: " + event.text);
  ports_.CloseLink();
  // The rest of the answer is lost; the part that arrived is kept.
  if (turn_.speaking()) OnTurnComplete(/*answer_due=*/false, now);
  if (lifecycle_.draining() && upstream_.empty() && !AnswerDue()) return link_.Close();
  if (!event.retry) {
    return Fail(event.code.empty() ? "provider_error" : event.code, event.text,
                websocket::close_code::kInternal);
  }
  // A handle that was not accepted is not used again.
  if (link_.resumed() && event.connected) handle_.clear();
  if (!CountFailure(now, event.text)) return;
  const bool at_once = next_link_.exists() && reconnects_.failures() == 1;
  link_.Wait(at_once ? now : now + reconnects_.pause());
  ++counters_.reconnects;
}

// Returns false if the maximum of failures is reached: the session has then failed.
bool Session::CountFailure(Deadline now, const std::string& reason) {
  if (link_.proven(now)) reconnects_.Reset();
  if (reconnects_.CountFailure()) return true;
  Fail("reconnect_failed", "the provider could not be reached: " + reason,
       websocket::close_code::kInternal);
  return false;
}

}  // namespace agent_graph::live

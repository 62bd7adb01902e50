// Session: the clock, what goes into the thread, and the end.
#include <algorithm>
#include <utility>

#include "base/json.h"
#include "live/events.h"
#include "live/session.h"
#include "websocket/protocol.h"

namespace agent_graph::live {

using std::chrono::milliseconds;

namespace {

// What a new link may be told.
constexpr size_t kHistoryMax = 200;  // messages
constexpr size_t kHistoryBytesMax = 1024 * 1024;
constexpr size_t kHeldMax = 50;

}  // namespace

void Session::Advance(Deadline now) {
  if (phase_ == Phase::kClosed) return;
  if (unheard_ && now >= unheard_->heard_at) StoreUnheard(std::nullopt);
  if (now >= ready_until_) {
    realtime::Event late{.kind = realtime::Event::Kind::kClosed,
                         .text = "the provider did not accept the session in time"};
    OnClosed(late, now);
  }
  if (now >= reconnect_at_) Open(now);
  if (now >= leave_until_) Replace(now);
  if (RotationDue(now)) Rotate(now);
  Forward(now);
  if (asked_at_ == kNoDeadline && !ToolsRun() && (speaking_ || answer_expected_)) {
    asked_at_ = now;
  }
}

Deadline Session::wake_at() const {
  Deadline wake = std::min({ready_until_, reconnect_at_, leave_until_, drain_until_});
  if (MayRotate()) wake = std::min(wake, rotate_at_);
  if (unheard_) wake = std::min(wake, unheard_->heard_at);
  if (phase_ == Phase::kDraining) wake = std::min(wake, quiet_until_);
  return wake;
}

// --- the thread -------------------------------------------------------------------------------

std::string Session::Metadata(bool spoken, bool interrupted) const {
  std::string text = spoken ? R"({"modality":"audio","agent":)" : R"({"agent":)";
  AppendJsonString(text, agent_);
  if (interrupted) text += R"(,"interrupted":true)";
  text.push_back('}');
  return text;
}

void Session::FinishInput() {
  input_expected_ = false;
  if (unheard_ && !unheard_->after_input) StoreUnheard(std::nullopt);
  if (unheard_) unheard_->after_input = false;
  if (input_.open()) {
    std::string text = input_.Take();
    if (!text.empty()) {
      ports_.Emit(InputTranscriptEvent("", true));
      Message message = Message::User(std::move(text));
      message.metadata_json = R"({"modality":"audio"})";
      StoreMessage(std::move(message));
    }
  }
  std::vector<Message> held = std::exchange(held_, {});
  for (Message& message : held) StoreMessage(std::move(message));
}

void Session::StoreUnheard(std::optional<milliseconds> heard) {
  if (!unheard_) return;
  Unheard unheard = *std::exchange(unheard_, std::nullopt);
  if (heard && unheard.audio > milliseconds(0)) unheard.utterance.Cut(*heard);
  StoreAnswer({unheard.utterance.Take(), unheard.audio > milliseconds(0), heard.has_value(),
               unheard.after_input});
}

void Session::StoreAnswer(Answer answer) {
  if (answer.text.empty()) return;
  Message message = Message::Assistant(std::move(answer.text));
  message.metadata_json = Metadata(answer.spoken, answer.interrupted);
  if (answer.after_input && held_.size() < kHeldMax) {
    held_.push_back(std::move(message));
  } else {
    StoreMessage(std::move(message));
  }
}

void Session::StoreMessage(Message message) {
  if (!message.Text().empty()) {
    history_.push_back(message);
    TrimHistory();
  }
  ports_.Store(std::move(message));
}

void Session::TrimHistory() {
  size_t bytes = 0;
  size_t kept = 0;
  for (auto message = history_.rbegin(); message != history_.rend() && kept < kHistoryMax;
       ++message, ++kept) {
    bytes += message->Text().size();
    if (bytes > kHistoryBytesMax) break;
  }
  history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(kept));
}

// --- the end ----------------------------------------------------------------------------------

void Session::Fail(const std::string& code, const std::string& message, uint16_t close_code) {
  if (phase_ == Phase::kClosed) return;
  EndTranscripts();
  ports_.Emit(ErrorEvent(code, message, true));  // the last event
  Finish(close_code, code, close_code == websocket::close_code::kInternal ? "error" : "rejected");
}

void Session::EndTranscripts() {
  if (std::exchange(output_shown_, false)) ports_.Emit(OutputTranscriptEvent("", true));
  FinishInput();
}

void Session::Finish(uint16_t code, std::string reason, std::string outcome) {
  phase_ = Phase::kClosed;
  EndTranscripts();
  StoreUnheard(std::nullopt);
  StoreAnswer({output_.Take(), turn_audio_ > milliseconds(0), /*interrupted=*/true});
  DropNext();
  ports_.CloseLink();
  ports_.Close(code, std::move(reason), std::move(outcome));
}

}  // namespace agent_graph::live

// Session: timers, messages for the thread, and the end of the session.
#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "live/events.h"
#include "live/session.h"
#include "websocket/protocol.h"

namespace agent_graph::live {

using std::chrono::milliseconds;

namespace {

// Limits of the history that a new link gets.
constexpr size_t kHistoryMax = 200;  // messages
constexpr size_t kHistoryBytesMax = 1024 * 1024;
constexpr size_t kHeldMax = 50;

size_t BytesOf(const Message& message) {
  size_t bytes = message.Text().size();
  for (const ToolCallBlock* call : message.ToolCalls()) bytes += call->arguments_json.size();
  for (const ToolResultBlock* result : message.ToolResults()) bytes += result->output_json.size();
  return bytes;
}

Message SpokenByUser(std::string text) {
  Message message = Message::User(std::move(text));
  message.metadata_json = R"({"modality":"audio"})";
  return message;
}

}  // namespace

void Session::Advance(Deadline now) {
  if (phase_ == Phase::kClosed) return;
  if (unheard_ && now >= unheard_->heard_at) StoreUnheard(std::nullopt);
  if (now >= input_until_) FinishInput();
  if (now >= ready_until_) {
    realtime::Event late{.kind = realtime::Event::Kind::kClosed,
                         .text = "the provider did not accept the session in time"};
    OnClosed(late, now);
    if (phase_ == Phase::kClosed) return;
  }
  if (now >= reconnect_at_) Open(now);
  if (moving_ && !input_expected_) Move(now);
  if (now >= leave_until_) moving_ ? Move(now) : Replace(now);
  if (RotationDue(now)) Rotate(now);
  Forward(now);
  if (asked_at_ == kNoDeadline && !ToolsRun() && (speaking_ || answer_expected_)) {
    asked_at_ = now;
  }
}

Deadline Session::wake_at() const {
  Deadline wake = std::min({ready_until_, reconnect_at_, leave_until_, drain_until_, input_until_});
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

// Ends an utterance. If the transcript of the next one is still expected, the lines in between are
// kept first, and the lines after it stay held.
void Session::FinishUtterance(Deadline now) {
  if (awaited_ < 2) return FinishInput();
  const size_t awaited = awaited_ - 1;
  std::vector<Line> held = std::exchange(held_, {});
  FinishInput();
  auto line = held.begin();
  for (; line != held.end() && !line->awaits(); ++line) Keep(std::move(*line));
  awaited_ = awaited;
  ExpectInput(now + times_.words_max);
  if (line != held.end()) ++line;
  for (; line != held.end(); ++line) Keep(std::move(*line));
}

// Puts a transcript that arrived early into its place. The client receives it after the transcripts
// of the earlier utterances.
void Session::FillPlace(size_t place, const std::string& text) {
  auto awaits = [](const Line& line) { return line.awaits(); };
  auto line = std::ranges::find_if(held_, awaits);
  while (line != held_.end() && --place > 0) line = std::find_if(line + 1, held_.end(), awaits);
  --awaited_;
  if (line == held_.end()) return;
  if (IsBlank(text)) {
    held_.erase(line);
    return;
  }
  *line = {SpokenByUser(text), /*in_thread=*/true, /*words=*/true};
  held_bytes_ += BytesOf(line->message);
}

// Ends the wait for transcripts. An unplayed answer and held lines follow transcripts that were
// expected and precede those that were not.
void Session::FinishInput() {
  const bool expected = std::exchange(input_expected_, false);
  input_until_ = kNoDeadline;
  awaited_ = 0;
  if (input_.open()) {
    if (!expected) StoreUnheard(std::nullopt);
    std::string text = input_.Take();
    if (!text.empty()) {
      ports_.Emit(InputTranscriptEvent("", true));
      Keep({SpokenByUser(std::move(text))});
    }
  }
  held_bytes_ = 0;
  for (Line& line : std::exchange(held_, {})) Keep(std::move(line));
}

void Session::StoreUnheard(std::optional<milliseconds> heard) {
  if (!unheard_) return;
  Unheard unheard = *std::exchange(unheard_, std::nullopt);
  if (heard && unheard.audio > milliseconds(0)) unheard.utterance.Cut(*heard);
  StoreAnswer({unheard.utterance.Take(), unheard.audio > milliseconds(0), heard.has_value()});
}

void Session::StoreAnswer(Answer answer) {
  if (answer.text.empty()) return;
  Message message = Message::Assistant(std::move(answer.text));
  message.metadata_json = Metadata(answer.spoken, answer.interrupted);
  Keep({std::move(message)});
}

// Keeps a line in the order of the conversation.
void Session::Keep(Line line) {
  if (input_expected_) {
    held_bytes_ += BytesOf(line.message);
    if (held_.size() < kHeldMax && held_bytes_ <= kHistoryBytesMax) {
      held_.push_back(std::move(line));
      return;
    }
    FinishInput();
  }
  if (line.words && !line.awaits()) {
    ports_.Emit(InputTranscriptEvent(line.message.Text(), false));
    ports_.Emit(InputTranscriptEvent("", true));
  }
  if (!line.message.Text().empty()) {
    history_.push_back(line.message);
    ++unknown_;
    TrimHistory();
  }
  if (line.in_thread) ports_.Store(std::move(line.message));
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
  ports_.Emit(ErrorEvent(code, message, true));  // always the last event
  Finish(close_code, code, close_code == websocket::close_code::kInternal ? "error" : "rejected");
}

void Session::EndTranscripts() {
  if (std::exchange(output_shown_, false)) ports_.Emit(OutputTranscriptEvent("", true));
  FinishInput();
}

void Session::Finish(uint16_t code, std::string reason, std::string outcome) {
  Enter(Phase::kClosed);
  EndTranscripts();
  StoreUnheard(std::nullopt);
  StoreAnswer({output_.Take(), turn_audio_ > milliseconds(0), /*interrupted=*/true});
  DropNext();
  ports_.CloseLink();
  ports_.Close(code, std::move(reason), std::move(outcome));
}

}  // namespace agent_graph::live

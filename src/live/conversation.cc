#include "live/conversation.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "live/events.h"

namespace agent_graph::live {

using std::chrono::milliseconds;

Conversation::Conversation(SessionPorts& ports, const SessionTimes& times, std::string agent,
                           std::vector<Message> history)
    : ports_(ports), times_(times), agent_(std::move(agent)), history_(std::move(history)) {}

void Conversation::SetAgent(std::string agent) {
  EndAnswerPart();
  agent_ = std::move(agent);
}

// --- the user ---------------------------------------------------------------------------------

void Conversation::AddUserText(const std::string& text) {
  FinishTranscript();
  StoreUnplayed();
  has_question_ = true;
  Keep({Line::Kind::kThread, Message::User(text)});
}

void Conversation::AnnounceTranscript(Deadline now) {
  announces_transcripts_ = true;
  if (transcript_.announced() == 0) FinishTranscript();
  StoreUnplayed();
  if (transcript_.announced() > 0) Keep({Line::Kind::kPlaceholder, {}});
  // Keep ends the wait for transcripts if too many lines are held.
  if (transcript_.expected()) {
    transcript_.AddAnnounced();
  } else {
    transcript_.Expect(now + times_.transcript_max, /*announced=*/1);
  }
}

void Conversation::AwaitTranscript(Deadline until) {
  transcript_.Expect(until, /*announced=*/0);
}

void Conversation::ExtendWait(Deadline until) {
  transcript_.ExtendWait(until);
}

void Conversation::ShortenWait(Deadline now) {
  if (transcript_.expected() && transcript_.announced() == 0) {
    transcript_.SetWait(now + times_.transcript_pause);
  }
}

bool Conversation::AddTranscript(const realtime::Event& event, bool speaking, Deadline now) {
  if (transcript_.announced() > event.later + 1) {
    if (event.finished) {
      transcript_.FillPlaceholder(transcript_.announced() - 1 - event.later, event.text);
    }
    return false;
  }
  if (!transcript_.open() && !speaking && now < late_until_) AwaitTranscript(now);
  bool new_question = false;
  if (transcript_.expected()) {
    transcript_.ExtendWait(now + times_.transcript_pause);
  } else {
    // If the provider announces utterances, or the model is answering, this utterance has its
    // answer already.
    new_question = !speaking && !event.finished && !announces_transcripts_;
  }
  if (event.finished) {
    const std::string rest = transcript_.FinishPart(event.text);
    if (!rest.empty()) ports_.Emit(InputTranscriptEvent(rest, false));
    FinishUtterance(now);
  } else {
    const std::string_view piece = transcript_.Add(event.text);
    if (!piece.empty()) ports_.Emit(InputTranscriptEvent(piece, false));
  }
  return new_question;
}

// Ends an utterance. If the transcript of the next one is still expected, the lines in between are
// kept first, and the lines after it stay held.
void Conversation::FinishUtterance(Deadline now) {
  if (transcript_.announced() < 2) return FinishTranscript();
  UserTranscript::Finished finished = transcript_.Finish();
  KeepUserWords(std::move(finished.text));
  auto line = finished.held.begin();
  for (; line != finished.held.end() && line->kind != Line::Kind::kPlaceholder; ++line) {
    Keep(std::move(*line));
  }
  transcript_.Expect(now + times_.transcript_max, finished.announced - 1);
  if (line != finished.held.end()) ++line;
  for (; line != finished.held.end(); ++line) Keep(std::move(*line));
}

// An unplayed answer precedes a transcript that was not expected, and follows one that was.
void Conversation::FinishTranscript() {
  if (!transcript_.expected()) return FinishOpenTranscript();
  UserTranscript::Finished finished = transcript_.Finish();
  KeepUserWords(std::move(finished.text));
  for (Line& line : finished.held) Keep(std::move(line));
}

void Conversation::FinishOpenTranscript() {
  if (transcript_.phase() != UserTranscript::Phase::kOpen) return;
  StoreUnplayed();
  KeepUserWords(transcript_.Finish().text);
}

void Conversation::KeepUserWords(std::string text) {
  if (text.empty()) return;
  has_question_ = true;
  ports_.Emit(InputTranscriptEvent("", true));
  Keep({Line::Kind::kThread, SpokenByUser(std::move(text))});
}

void Conversation::OnNewLink() {
  FinishTranscript();
  if (!answer_.text().empty()) EndAnswerPart();
  answer_ = {};
  announces_transcripts_ = false;
}

// --- the model --------------------------------------------------------------------------------

void Conversation::AddAnswerText(const realtime::Event& event) {
  std::string rest;
  std::string_view piece;
  if (event.finished) {
    rest = answer_.FinishText(event.text);
    piece = rest;
  } else {
    piece = answer_.AddText(event.text);
  }
  if (piece.empty()) return;
  answer_shown_ = true;
  ports_.Emit(OutputTranscriptEvent(piece, false));
}

void Conversation::EndAnswerTranscript() {
  if (std::exchange(answer_shown_, false)) ports_.Emit(OutputTranscriptEvent("", true));
}

void Conversation::CompleteAnswer(bool asked, Deadline now) {
  // Some providers send a transcript late and do not announce it.
  late_until_ = asked ? Deadline() : now + times_.transcript_after_answer;
  has_question_ = false;
  EndAnswerTranscript();
  StoreUnplayed();
  unplayed_ = Unplayed{std::exchange(answer_, {}), now + ports_.Unplayed()};
  if (now >= unplayed_->played_at) StoreUnplayed();
}

// Until audio of the next answer arrives, the provider, too, counts that of the unplayed one.
std::optional<milliseconds> Conversation::Heard(milliseconds unplayed) const {
  const bool has_audio = answer_.audio() > milliseconds(0);
  const Answer& played = unplayed_ && !has_audio ? unplayed_->answer : answer_;
  if (played.audio() == milliseconds(0)) return std::nullopt;
  return played.Heard(unplayed);
}

void Conversation::InterruptAnswer(milliseconds unplayed) {
  has_question_ = false;
  EndAnswerTranscript();
  InterruptUnplayed(unplayed);
  StoreUnplayed();
  answer_.Cut(answer_.Heard(unplayed));
  StoreAnswer(std::exchange(answer_, {}), /*interrupted=*/true);
}

// The audio of the answer follows that of the unplayed one.
void Conversation::InterruptUnplayed(milliseconds unplayed) {
  if (!unplayed_ || unplayed <= answer_.audio()) return;
  Answer answer = TakeUnplayed();
  answer.Cut(answer.Heard(unplayed - answer_.audio()));
  StoreAnswer(std::move(answer), /*interrupted=*/true);
}

void Conversation::StoreUnplayed() {
  if (unplayed_) StoreAnswer(TakeUnplayed(), /*interrupted=*/false);
}

void Conversation::StoreAnswer(Answer answer, bool interrupted) {
  if (answer.text().empty()) return;
  Message message = Message::Assistant(answer.TakeText());
  message.metadata_json = Metadata(answer.spoken(), interrupted);
  Keep({Line::Kind::kThread, std::move(message)});
}

void Conversation::EndAnswerPart() {
  EndAnswerTranscript();
  StoreUnplayed();
  StoreAnswer(answer_.TakePart(), /*interrupted=*/false);
}

void Conversation::AddToolCalls(const std::vector<realtime::ToolCall>& calls) {
  Message message = Message::Assistant("");
  message.content.clear();
  for (const realtime::ToolCall& call : calls) {
    message.content.emplace_back(ToolCallBlock{call.id, call.name, call.arguments_json});
  }
  message.metadata_json = Metadata(false, false);
  Keep({Line::Kind::kThread, std::move(message)});
}

void Conversation::AddHistoryText(std::string text) {
  Keep({Line::Kind::kHistory, Message::User(std::move(text))});
}

std::string Conversation::Metadata(bool spoken, bool interrupted) const {
  std::string text = spoken ? R"({"modality":"audio","agent":)" : R"({"agent":)";
  AppendJsonString(text, agent_);
  if (interrupted) text += R"(,"interrupted":true)";
  text.push_back('}');
  return text;
}

// --- both -------------------------------------------------------------------------------------

// Keeps a line in the order of the conversation.
void Conversation::Keep(Line line) {
  if (transcript_.expected()) {
    if (transcript_.Hold(line)) return;
    FinishTranscript();
  }
  if (line.kind == Line::Kind::kTranscript) {
    ports_.Emit(InputTranscriptEvent(line.message.Text(), false));
    ports_.Emit(InputTranscriptEvent("", true));
  }
  if (!line.message.Text().empty()) history_.Add(line.message);
  const bool in_thread = line.kind == Line::Kind::kThread || line.kind == Line::Kind::kTranscript;
  if (in_thread) ports_.Store(std::move(line.message));
}

size_t Conversation::bytes() const {
  const size_t unplayed = unplayed_ ? unplayed_->answer.text().size() : 0;
  return history_.bytes() + transcript_.bytes() + answer_.text().size() + unplayed;
}

void Conversation::EndTranscripts() {
  EndAnswerTranscript();
  FinishTranscript();
}

void Conversation::Close() {
  EndTranscripts();
  StoreUnplayed();
  StoreAnswer(std::exchange(answer_, {}), /*interrupted=*/true);
}

void Conversation::Advance(Deadline now) {
  if (unplayed_ && now >= unplayed_->played_at) StoreUnplayed();
  if (now >= transcript_.deadline()) FinishTranscript();
}

Deadline Conversation::wake_at() const {
  const Deadline played = unplayed_ ? unplayed_->played_at : kNoDeadline;
  return std::min(played, transcript_.deadline());
}

}  // namespace agent_graph::live

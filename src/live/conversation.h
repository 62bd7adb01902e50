// Conversation: what the user and the model say, in order. It sends transcripts to the client,
// stores lines in the thread, and keeps the history for further links.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/message.h"
#include "base/clock.h"
#include "live/answer.h"
#include "live/history.h"
#include "live/line.h"
#include "live/session_ports.h"
#include "live/session_times.h"
#include "live/user_transcript.h"
#include "realtime/link.h"

namespace agent_graph::live {

// A line that follows an utterance whose transcript is still expected is held back until then.
//
// An answer goes through three phases: received, unplayed (complete, but the client still plays it
// and the user may interrupt it), and stored. An answer without unplayed audio is stored at once.
// One answer may be unplayed while the next is received.
//
// Not thread-safe; used on the session's fiber, never blocks.
class Conversation {
 public:
  Conversation(SessionPorts& ports, const SessionTimes& times, std::string agent,
               std::vector<Message> history);

  // The agent that speaks; it is stored with its answers.
  const std::string& agent() const { return agent_; }
  void SetAgent(std::string agent);
  History& history() { return history_; }
  const History& history() const { return history_; }

  // --- The user ---
  const UserTranscript& transcript() const { return transcript_; }
  // True if the current link announces transcripts.
  bool announces_transcripts() const { return announces_transcripts_; }
  void AddUserText(const std::string& text);
  // True if words of the user were kept that no complete answer follows.
  bool has_question() const { return has_question_; }
  // The provider announces the transcript of an utterance.
  void AnnounceTranscript(Deadline now);
  // Expects, until then, a transcript that was not announced.
  void AwaitTranscript(Deadline until);
  // The link delivers no more than this transcript: shortens the wait for its next piece.
  void ShortenWait(Deadline now);
  // Waits at least until this time. Requires an expected transcript.
  void ExtendWait(Deadline until);
  // `event` is a kInputTranscript. Returns true if the words belong to a new utterance that was not
  // announced: an answer to it is to be expected. `speaking`: the model speaks.
  bool AddTranscript(const realtime::Event& event, bool speaking, Deadline now);
  // Ends the wait for transcripts. Held lines follow.
  void FinishTranscript();
  // The same for a transcript that is in progress but not expected.
  void FinishOpenTranscript();
  // Another link was opened. It does not deliver the transcripts of its predecessor.
  void OnNewLink();

  // --- The model ---
  // `event` is a kOutputTranscript.
  void AddAnswerText(const realtime::Event& event);
  void AddAnswerAudio(size_t bytes) { answer_.AddAudio(bytes); }
  // The answer that is being received, and the one that is complete and still played; null: none.
  const Answer& answer() const { return answer_; }
  const Answer* unplayed() const { return unplayed_ ? &unplayed_->answer : nullptr; }
  // How much the user has heard of the audio that is being played if `unplayed` of it was not.
  // nullopt: no answer with audio is being received or unplayed.
  std::optional<std::chrono::milliseconds> Heard(std::chrono::milliseconds unplayed) const;
  // The answer is complete. `asked`: the user had said something that it answers.
  void CompleteAnswer(bool asked, Deadline now);
  // The user interrupts: stores the heard words of the answer, and of the unplayed one before it.
  void InterruptAnswer(std::chrono::milliseconds unplayed);
  // The same for the unplayed answer alone. Does nothing if all its audio was played.
  void InterruptUnplayed(std::chrono::milliseconds unplayed);
  // Stores the unplayed answer, which the user does not interrupt any more.
  void StoreUnplayed();
  // Stores the words before tool calls, whole: the calls follow at once. The answer may continue.
  void EndAnswerPart();
  void AddToolCalls(const std::vector<realtime::ToolCall>& calls);
  // Adds text for the model, which the thread does not store.
  void AddHistoryText(std::string text);
  // Adds a message for the thread.
  void AddMessage(Message message) { Keep({Line::Kind::kThread, std::move(message)}); }

  // Ends the transcripts that the client receives.
  void EndTranscripts();
  // Stores everything that is left. Only messages of tools follow.
  void Close();

  // Size of all texts that are kept in memory.
  size_t bytes() const;

  // Performs the actions that are due.
  void Advance(Deadline now);
  Deadline wake_at() const;

 private:
  struct Unplayed {
    Answer answer;
    Deadline played_at;  // end of playback at the client
  };

  void FinishUtterance(Deadline now);
  void KeepUserWords(std::string text);
  Answer TakeUnplayed() { return std::exchange(unplayed_, std::nullopt)->answer; }
  void StoreAnswer(Answer answer, bool interrupted);
  void EndAnswerTranscript();
  void Keep(Line line);
  std::string Metadata(bool spoken, bool interrupted) const;

  SessionPorts& ports_;
  const SessionTimes& times_;
  std::string agent_;
  History history_;
  UserTranscript transcript_;
  bool announces_transcripts_ = false;
  // A transcript that begins before this time belongs to the question of the last answer.
  Deadline late_until_{};
  bool has_question_ = false;
  Answer answer_;
  bool answer_shown_ = false;  // an event with words of answer_ was sent
  std::optional<Unplayed> unplayed_;
};

}  // namespace agent_graph::live

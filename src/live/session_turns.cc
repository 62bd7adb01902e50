// Session: speech of the user and answers of the model.
#include <optional>
#include <utility>

#include "live/events.h"
#include "live/session.h"

namespace agent_graph::live {

using std::chrono::milliseconds;

void Session::OnSpeechStarted() {
  OnContent();
  turn_.Expect();
  // While the model speaks, the provider reports the interruption.
  if (!turn_.speaking() || ToolsRun()) InterruptPlayback();
}

// The user interrupts an answer, or the words before tool calls, that the model has generated and
// the client still plays. The calls go on.
void Session::InterruptPlayback() {
  const bool has_answer = conversation_.unplayed() != nullptr || !conversation_.answer().empty();
  if (!has_answer || ports_.Unplayed() == milliseconds(0)) return;
  conversation_.InterruptAnswer(StopPlayback());
  ports_.Emit(InterruptedEvent());
}

// Returns the duration of the audio that the client does not play any more.
milliseconds Session::StopPlayback() {
  const milliseconds unplayed = ports_.Unplayed();
  // Without audio to cut, the provider would cut an earlier answer, which was heard to its end.
  const std::optional<milliseconds> heard = conversation_.Heard(unplayed);
  realtime::Link* open = ports_.link();
  if (open != nullptr && heard) open->Truncate(*heard);
  ports_.FlushAudio();
  return unplayed;
}

void Session::OnInputTranscript(const realtime::Event& event, Deadline now) {
  OnContent();
  if (conversation_.AddTranscript(event, turn_.speaking(), now)) turn_.Expect();
}

void Session::OnAudio(std::string pcm) {
  OnContent();
  turn_.Speak();
  conversation_.AddAnswerAudio(pcm.size());
  ports_.EmitAudio(std::move(pcm));
}

void Session::RecordAnswer(std::string_view stop_reason) {
  if (!turn_.clock_started() && !turn_.speaking()) return;
  ports_.RecordAnswer(turn_.TakeClock(), stop_reason);
}

void Session::OnTurnComplete(bool answer_due, Deadline now) {
  OnContent();
  // The end of an answer that was interrupted: the user is still speaking.
  if (answer_due && !turn_.speaking()) return ports_.Emit(TurnCompleteEvent());
  const bool asked = turn_.expected() || conversation_.transcript().open();
  conversation_.FinishOpenTranscript();
  RecordAnswer("stop");
  turn_.Complete(answer_due);
  audio_sent_ = false;
  conversation_.CompleteAnswer(asked, now);
  ports_.Emit(TurnCompleteEvent());
}

void Session::OnInterrupted() {
  OnContent();
  if (!turn_.speaking() && conversation_.answer().empty()) return;
  const milliseconds unplayed = StopPlayback();
  conversation_.InterruptUnplayed(unplayed);
  conversation_.FinishOpenTranscript();
  RecordAnswer("interrupted");
  conversation_.InterruptAnswer(unplayed);
  ports_.Emit(InterruptedEvent());
  turn_.Interrupt();
}

}  // namespace agent_graph::live

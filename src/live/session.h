// A live session as a state machine. Inputs are events of client, model, tools and clock; actions
// go out through SessionPorts. It uses no transport and no threads: all calls come on the session's
// fiber.
//
//   running ──close, disconnect, worker leaves──► draining ──answered, or 30 s──► closed
//      └──────────────── fatal error ──────────────────────────────────────────────►┘
//
// During the session the link to the provider changes between connecting, ready, and waiting to
// reconnect. If the provider announces that it will close the link, the next link is prepared while
// the current one still works.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "base/clock.h"
#include "live/upstream.h"
#include "live/utterance.h"
#include "realtime/link.h"

namespace agent_graph::live {

// Tool that the model calls to hand the conversation over: {"agent": name}.
inline constexpr char kTransferTool[] = "transfer_to_agent";

// Maximum length of a provider's handle. A longer handle is ignored.
inline constexpr size_t kHandleBytesMax = 64 * 1024;

// Actions of a session. LiveSession implements them on the session's fiber.
class SessionPorts {
 public:
  virtual ~SessionPorts() = default;

  // Towards the client.
  virtual void Emit(std::string event) = 0;
  virtual void EmitAudio(std::string pcm) = 0;
  virtual void FlushAudio() = 0;
  // Duration of emitted audio that the client cannot have played yet.
  virtual std::chrono::milliseconds Unplayed() = 0;

  // Towards the model. Configure may suspend the calling fiber.
  virtual realtime::LinkConfig Configure(const std::string& agent) = 0;
  virtual std::vector<std::string> HandoverTargets(const std::string& agent) = 0;
  virtual void OpenLink(const realtime::LinkConfig& config) = 0;  // replaces the current one
  virtual void CloseLink() = 0;
  virtual realtime::Link* link() = 0;  // null: no link is open
  // Prepares a link in addition to the current one. It replaces that one at BeginNextLink.
  virtual void PrepareNextLink(const realtime::LinkConfig& config) = 0;
  virtual void BeginNextLink(const realtime::LinkConfig& config) = 0;
  virtual void DropNextLink() = 0;
  virtual bool OneLinkAtATime() = 0;  // at most one link may have begun
  virtual bool LinksResume() = 0;     // the configured provider supports handles
  // Maximum bytes of client frames that may currently wait for the model.
  virtual size_t UpstreamBytesMax() = 0;

  // The results arrive through OnToolReplies with the same `number`.
  virtual void CallTools(std::vector<realtime::ToolCall> calls, uint64_t number) = 0;
  // Stores messages in the thread in the order of the calls.
  virtual void Store(Message message) = 0;
  // Records that the model has answered or called tools. `since`: when the answer was first
  // expected.
  virtual void RecordAnswer(Deadline since, std::string_view stop_reason) = 0;
  // OnHandleStored follows when the handle is stored.
  virtual void StoreHandle(std::string handle) = 0;

  // Logs a line for the operator.
  virtual void Warn(const std::string& line) = 0;
  // The last call, except for Store with results of tools.
  virtual void Close(uint16_t code, std::string reason, std::string outcome) = 0;
};

// Time limits of a session.
struct SessionTimes {
  std::chrono::milliseconds drain_max{30'000};
  std::chrono::milliseconds drain_quiet{1'500};  // wait for the start of an answer to audio
  std::chrono::milliseconds ready_max{15'000};   // wait for the provider to accept a link
  std::chrono::milliseconds reconnect_first{500};
  std::chrono::milliseconds reconnect_last{10'000};
  int reconnects_max = 5;
  std::chrono::milliseconds go_away_margin{2'000};
  std::chrono::milliseconds leave_max{3'000};  // wait for a provider to confirm the end of a link
  // A link that was ready for this time resets the count of failures.
  std::chrono::milliseconds proven_after{60'000};
  // Waits for a transcript of the user: after its audio; after an answer, for providers that do not
  // announce transcripts; and between two pieces of a transcript.
  std::chrono::milliseconds words_max{10'000};
  std::chrono::milliseconds words_after_answer{5'000};
  std::chrono::milliseconds words_pause{1'000};
  std::chrono::milliseconds handover_max{2'000};  // wait for the transcript that led to a handover
};

// Counters of a session; they only increase.
struct SessionCounters {
  uint64_t frames_dropped = 0;  // client frames dropped because the queue was full
  uint64_t reconnects = 0;
  // Frames sent to the model, and the sum of their waiting times in the queue.
  uint64_t frames_forwarded = 0;
  uint64_t forward_micros = 0;
};

// Not thread-safe. Functions that call Configure may suspend the calling fiber. `now` must not
// decrease from call to call.
class Session {
 public:
  enum class Phase : uint8_t { kRunning, kDraining, kClosed };

  struct Options {
    std::string agent = {};              // the live agent at the root of the graph
    std::vector<Message> history = {};   // messages of the thread, oldest first
    std::string resumption_handle = {};  // of an earlier session; the provider may refuse it
    SessionTimes times = {};
  };

  Session(SessionPorts& ports, Options options);

  // Opens the first link.
  void Start(Deadline now);
  // Handles a frame of the client. Ignored while the session drains.
  void OnFrame(UpstreamFrame frame, Deadline now);
  // The client has disconnected: drains the session.
  void OnDisconnect(Deadline now);
  // The worker is exiting: the client reconnects to another worker and continues its thread.
  void OnLeave(Deadline now);
  // Handle events of the current link and of the next one.
  void OnLinkEvent(realtime::Event event, Deadline now);
  void OnNextLinkEvent(const realtime::Event& event);
  // `messages` are stored in the thread, also after the end of the session.
  void OnToolReplies(std::vector<realtime::ToolReply> replies, std::vector<Message> messages,
                     uint64_t number, Deadline now);
  // The handle of StoreHandle is stored: sends it to the client.
  void OnHandleStored(const std::string& handle);
  // Ends the session with a fatal error event. `message` is shown to the client.
  void Fail(const std::string& code, const std::string& message, uint16_t close_code);
  // Performs the actions that are due. Call it after each input, and at wake_at().
  void Advance(Deadline now);

  // Time of the next call of Advance if no input comes before.
  Deadline wake_at() const;
  Phase phase() const { return phase_; }
  const std::string& agent() const { return agent_; }
  const SessionCounters& counters() const { return counters_; }
  size_t buffered_bytes() const { return upstream_.bytes(); }

 private:
  // A complete answer that the client is still playing. It is written to the thread when playback
  // has ended or was interrupted.
  struct Unheard {
    Utterance utterance;
    std::chrono::milliseconds audio{0};
    Deadline heard_at{};
  };

  // The words of an answer of the model.
  struct Answer {
    std::string text;
    bool spoken = false;
    bool interrupted = false;
  };

  // A line of the conversation: words, tool calls or results.
  struct Line {
    Message message;
    bool in_thread = true;  // false: only for the history that another link gets
    // The user's words of an utterance that follows others without a transcript; empty: a
    // placeholder until its own transcript arrives.
    bool words = false;
    bool awaits() const { return words && message.Text().empty(); }
  };

  // Tool calls of one reply of the model.
  struct RunningCalls {
    uint64_t number = 0;       // as in CallTools
    uint64_t link_number = 0;  // number of the link that made the calls
    std::vector<realtime::ToolCall> calls = {};
    std::optional<realtime::ToolCall> transfer = {};  // handover, carried out after the other calls
  };

  // State of the link that follows the current one.
  enum class Next : uint8_t { kNone, kConnecting, kPrepared };

  void Enter(Phase phase);
  void Open(Deadline now);
  void TellLink(realtime::LinkConfig& config);
  size_t Unanswered() const;
  void OnReady(Deadline now);
  void Prepare();
  void DropNext();
  // A provider may announce the end of a link before it has accepted the session.
  bool MayRotate() const {
    return phase_ == Phase::kRunning && ready_ && rotate_at_ != kNoDeadline;
  }
  bool RotationDue(Deadline now) const;
  void Rotate(Deadline now);
  void Replace(Deadline now);
  void Move(Deadline now);
  bool CountFailure(Deadline now, const std::string& reason);
  std::chrono::milliseconds Pause() const;
  bool leaving() const { return leave_until_ != kNoDeadline; }
  void Forward(Deadline now);
  void Send(const UpstreamFrame& frame);
  void Drain(Deadline now, uint16_t code, std::string reason);
  bool Drained(Deadline now);
  bool AnswerDue() const {
    return speaking_ || answer_expected_ || !running_.empty() || !untold_.empty();
  }
  void Finish(uint16_t code, std::string reason, std::string outcome);

  void OnContent();
  void RecordAnswer(std::string_view stop_reason);
  void OnInputExpected(Deadline now);
  void ExpectInput(Deadline until);
  void OnInputTranscript(const realtime::Event& event, Deadline now);
  void OnOutputTranscript(const realtime::Event& event);
  void OnSpeechStarted();
  void OnNothingAsked();
  void OnToolCalls(std::vector<realtime::ToolCall> calls, Deadline now);
  void OnToolsCancelled(const std::vector<realtime::ToolCall>& calls, Deadline now);
  void OnTurnComplete(bool answer_due, Deadline now);
  void OnInterrupted();
  void OnResumption(const std::string& handle);
  void OnGoAway(std::chrono::milliseconds time_left, Deadline now);
  void OnLeftLinkEvent(const realtime::Event& event, Deadline now);
  void OnClosed(const realtime::Event& event, Deadline now);

  bool ToolsRun() const;
  bool IsPresent(uint64_t link_number) const {
    return link_number == link_number_ && ports_.link() != nullptr && !leaving();
  }
  void TellResults();
  void KeepUntold();
  void TakeResults(const RunningCalls& done, std::vector<realtime::ToolReply> replies,
                   Deadline now);
  void HandOver(const std::string& target, const RunningCalls& done,
                std::vector<realtime::ToolReply> replies, Deadline now);
  void EndTranscripts();
  void FinishUtterance(Deadline now);
  void FillPlace(size_t place, const std::string& text);
  void FinishInput();
  void StoreUnheard(std::optional<std::chrono::milliseconds> heard);
  void StoreAnswer(Answer answer);
  void Keep(Line line);
  void TrimHistory();
  std::string Metadata(bool spoken, bool interrupted) const;

  SessionPorts& ports_;
  const SessionTimes times_;
  Phase phase_ = Phase::kRunning;
  std::string agent_;
  std::vector<Message> history_;
  SessionCounters counters_;

  // --- State towards the model ---
  UpstreamQueue upstream_;
  uint64_t link_number_ = 0;  // number of links opened so far
  bool ready_ = false;
  Deadline ready_until_ = kNoDeadline;   // set while a link connects
  Deadline reconnect_at_ = kNoDeadline;  // set while there is no link
  Deadline rotate_at_ = kNoDeadline;     // set after the provider announced the end of the link
  Deadline leave_until_ = kNoDeadline;   // set while a link is being left
  bool moving_ = false;                  // the link is being left for that of another agent
  Deadline proven_at_ = kNoDeadline;     // set while a link is ready
  Next next_ = Next::kNone;
  int failures_ = 0;   // consecutive
  std::string entry_;  // LinkConfig::entry of the current link
  std::string handle_;
  bool handle_in_use_ = false;  // by the connecting link
  size_t unknown_ = 0;          // messages at the end of history_ that the handle does not cover

  // --- State of the turn ---
  bool speaking_ = false;            // the model has begun to answer
  bool answer_expected_ = false;     // the user has spoken or written
  bool handed_over_ = false;         // to an agent that has not answered yet
  Deadline asked_at_ = kNoDeadline;  // set while an answer is due
  bool sound_sent_ = false;          // audio of the user since the last answer
  bool activity_ = false;            // the client has signalled the start of speech
  std::vector<RunningCalls> running_;
  uint64_t calls_number_ = 0;  // number of batches of calls so far
  // Results, as text, of calls that an earlier link made; not in the history yet.
  std::string untold_;
  std::chrono::milliseconds turn_audio_{0};  // audio emitted in this turn
  Utterance input_;
  // A transcript of the user is expected. It precedes everything in held_.
  bool input_expected_ = false;
  size_t awaited_ = 0;                  // utterances whose transcripts the provider has announced
  bool announces_ = false;              // the provider announces transcripts
  Deadline input_until_ = kNoDeadline;  // end of the wait for transcripts
  Deadline asking_until_{};  // a transcript until then belongs to the question of the last answer
  Utterance output_;
  bool output_shown_ = false;  // an event with this transcript was sent
  std::optional<Unheard> unheard_;
  std::vector<Line> held_;
  size_t held_bytes_ = 0;

  // --- State of the end ---
  Deadline drain_until_ = kNoDeadline;
  Deadline quiet_until_ = kNoDeadline;
  bool audio_ended_ = false;
  uint16_t close_code_ = 0;
  std::string close_reason_;
};

}  // namespace agent_graph::live

// A live session as a state machine: what comes from the client, the model, the tools and the clock
// goes in, and what is to be done comes out through SessionPorts. Knows no transport and no thread.
//
//   running ──close, disconnect, worker leaves──► draining ──answered, or 30 s──► closed
//      └──────────────── fatal error ──────────────────────────────────────────────►┘
//
// While it runs, its link to the provider comes and goes: connecting, ready, waiting to reconnect.
// When the provider says that it will go, the next link is prepared beside the present one.
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

// The model calls it to hand the conversation over: {"agent": name}.
inline constexpr char kTransferTool[] = "transfer_to_agent";

// Of a provider's handle; a longer one is none.
inline constexpr size_t kHandleBytesMax = 64 * 1024;

class SessionPorts {
 public:
  virtual ~SessionPorts() = default;

  // To the client.
  virtual void Emit(std::string event) = 0;
  virtual void EmitAudio(std::string pcm) = 0;
  virtual void FlushAudio() = 0;
  // Sound that was emitted and that the client cannot have played yet.
  virtual std::chrono::milliseconds Unplayed() = 0;

  // To the model. Configure may suspend the caller.
  virtual realtime::LinkConfig Configure(const std::string& agent) = 0;
  virtual std::vector<std::string> HandoverTargets(const std::string& agent) = 0;
  virtual void OpenLink(const realtime::LinkConfig& config) = 0;  // instead of the present one
  virtual void CloseLink() = 0;
  virtual realtime::Link* link() = 0;  // null: none is open
  // A link beside the present one, which it replaces when it begins.
  virtual void PrepareNextLink(const realtime::LinkConfig& config) = 0;
  virtual void BeginNextLink(const realtime::LinkConfig& config) = 0;
  virtual void DropNextLink() = 0;
  virtual bool OneLinkAtATime() = 0;  // of those that have begun
  virtual bool LinksResume() = 0;     // a handle means something to the configured provider
  // Bytes of client frames that may wait for the model at present.
  virtual size_t UpstreamBytesMax() = 0;

  // Answered by OnToolReplies with the same `number`.
  virtual void CallTools(std::vector<realtime::ToolCall> calls, uint64_t number) = 0;
  // To the thread, in this order.
  virtual void Store(Message message) = 0;
  // The model has answered, or asked for tools; `since`: when that began to be expected.
  virtual void RecordAnswer(Deadline since, std::string_view stop_reason) = 0;
  // Answered by OnHandleStored.
  virtual void StoreHandle(std::string handle) = 0;

  // A line for the operator.
  virtual void Warn(const std::string& line) = 0;
  // The last call, but for results to store.
  virtual void Close(uint16_t code, std::string reason, std::string outcome) = 0;
};

struct SessionTimes {
  std::chrono::milliseconds drain_max{30'000};
  std::chrono::milliseconds drain_quiet{1'500};  // for an answer to sound, to begin
  std::chrono::milliseconds ready_max{15'000};   // for a link to be accepted
  std::chrono::milliseconds reconnect_first{500};
  std::chrono::milliseconds reconnect_last{10'000};
  int reconnects_max = 5;
  std::chrono::milliseconds go_away_margin{2'000};
  std::chrono::milliseconds leave_max{3'000};      // for a provider to agree to the end of a link
  std::chrono::milliseconds proven_after{60'000};  // a link that stood so long has not failed
  // For words of the user to come after their sound; after an answer, where the provider does not
  // tell that they will; and between two pieces of such words.
  std::chrono::milliseconds words_max{10'000};
  std::chrono::milliseconds words_after_answer{5'000};
  std::chrono::milliseconds words_pause{1'000};
  std::chrono::milliseconds handover_max{2'000};  // for the words that led to it
};

struct SessionCounters {
  uint64_t frames_dropped = 0;  // of the client, because the queue was full
  uint64_t reconnects = 0;
  // Frames that went to the model, and how long they waited for it in all.
  uint64_t frames_forwarded = 0;
  uint64_t forward_micros = 0;
};

class Session {
 public:
  enum class Phase : uint8_t { kRunning, kDraining, kClosed };

  struct Options {
    std::string agent = {};              // the live agent at the root
    std::vector<Message> history = {};   // of the thread, oldest first
    std::string resumption_handle = {};  // of an earlier session; may be refused
    SessionTimes times = {};
  };

  Session(SessionPorts& ports, Options options);

  void Start(Deadline now);
  void OnFrame(UpstreamFrame frame, Deadline now);
  void OnDisconnect(Deadline now);
  // The worker is leaving: the client comes back to another one, with its thread.
  void OnLeave(Deadline now);
  void OnLinkEvent(realtime::Event event, Deadline now);
  void OnNextLinkEvent(const realtime::Event& event);
  // `messages` are for the thread, and taken after the end, too.
  void OnToolReplies(std::vector<realtime::ToolReply> replies, std::vector<Message> messages,
                     uint64_t number, Deadline now);
  void OnHandleStored(const std::string& handle);
  // Ends the session with a fatal error event.
  void Fail(const std::string& code, const std::string& message, uint16_t close_code);
  // After the above, and when wake_at() has come.
  void Advance(Deadline now);

  Deadline wake_at() const;
  Phase phase() const { return phase_; }
  const std::string& agent() const { return agent_; }
  const SessionCounters& counters() const { return counters_; }
  size_t buffered_bytes() const { return upstream_.bytes(); }

 private:
  // A complete answer that the client is still playing; written to the thread once it was heard.
  struct Unheard {
    Utterance utterance;
    std::chrono::milliseconds audio{0};
    Deadline heard_at{};
  };

  // What the model has said.
  struct Answer {
    std::string text;
    bool spoken = false;
    bool interrupted = false;
  };

  // What was said, done or returned.
  struct Line {
    Message message;
    bool in_thread = true;  // and not only what another link is told
    bool words = false;     // of a later utterance; empty: they belong here and are awaited
    bool awaits() const { return words && message.Text().empty(); }
  };

  // The calls of one reply of the model.
  struct RunningCalls {
    uint64_t number = 0;       // as of CallTools
    uint64_t link_number = 0;  // of the link that made them
    std::vector<realtime::ToolCall> calls = {};
    std::optional<realtime::ToolCall> transfer = {};  // after the others
  };

  // The link after the present one.
  enum class Next : uint8_t { kNone, kConnecting, kPrepared };

  void Open(Deadline now);
  void TellLink(realtime::LinkConfig& config);
  size_t Unanswered() const;
  void OnReady(Deadline now);
  void Prepare();
  void DropNext();
  // A provider may say that it will go before it has accepted the session.
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

  // Towards the model.
  UpstreamQueue upstream_;
  uint64_t link_number_ = 0;  // counts the links that were opened
  bool ready_ = false;
  Deadline ready_until_ = kNoDeadline;   // set while a link connects
  Deadline reconnect_at_ = kNoDeadline;  // set while there is none
  Deadline rotate_at_ = kNoDeadline;     // set after the provider said that it will go
  Deadline leave_until_ = kNoDeadline;   // set while a link that was left ends
  bool moving_ = false;                  // it was left for that of another agent
  Deadline proven_at_ = kNoDeadline;     // set while a link is ready
  Next next_ = Next::kNone;
  int failures_ = 0;   // in a row
  std::string entry_;  // LinkConfig::entry of the link that was opened
  std::string handle_;
  bool handle_in_use_ = false;  // by the link that connects
  size_t unknown_ = 0;          // messages at the end of history_ that the handle does not cover

  // The turn.
  bool speaking_ = false;            // the model has begun to answer
  bool answer_expected_ = false;     // the user has said something
  bool handed_over_ = false;         // to an agent that has not spoken yet
  Deadline asked_at_ = kNoDeadline;  // set while an answer is due
  bool sound_sent_ = false;          // since the last answer
  bool activity_ = false;            // the client has told that the user speaks
  std::vector<RunningCalls> running_;
  uint64_t calls_number_ = 0;  // counts those that were made
  std::string untold_;         // results of calls that another link made, not in the history yet
  std::chrono::milliseconds turn_audio_{0};  // emitted
  Utterance input_;
  // The provider will tell its words, which come before all that is held.
  bool input_expected_ = false;
  size_t awaited_ = 0;                  // utterances whose words the provider has announced
  bool announces_ = false;              // it does so
  Deadline input_until_ = kNoDeadline;  // then they are waited for no longer
  Deadline asking_until_{};             // words that come until then have asked for the last answer
  Utterance output_;
  bool output_shown_ = false;  // an event of it was sent
  std::optional<Unheard> unheard_;
  std::vector<Line> held_;
  size_t held_bytes_ = 0;

  // The end.
  Deadline drain_until_ = kNoDeadline;
  Deadline quiet_until_ = kNoDeadline;
  bool audio_ended_ = false;
  uint16_t close_code_ = 0;
  std::string close_reason_;
};

}  // namespace agent_graph::live

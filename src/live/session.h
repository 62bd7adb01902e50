// Session: a live session. Inputs are events of client, model, tools and clock; actions go out
// through SessionPorts. It uses no transport and no threads: all calls come on the session's fiber.
//
// Session decides what an input means. The state is in its members, each with its own state
// machine: Lifecycle (the whole session), LinkPhase and NextLink (the connections to the provider),
// Turn (the model's answers), Conversation and UserTranscript (what was said), PendingCalls
// (tools).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "base/clock.h"
#include "live/conversation.h"
#include "live/lifecycle.h"
#include "live/link_phase.h"
#include "live/next_link.h"
#include "live/pending_calls.h"
#include "live/reconnects.h"
#include "live/session_ports.h"
#include "live/session_times.h"
#include "live/tool_results.h"
#include "live/turn.h"
#include "live/upstream.h"
#include "realtime/link.h"

namespace agent_graph::live {

// Counters of a session; they only increase.
struct SessionCounters {
  uint64_t frames_dropped = 0;  // client frames dropped because the queue was full
  uint64_t reconnects = 0;
  // Frames sent to the model, and the sum of their waiting times in the queue.
  uint64_t frames_forwarded = 0;
  uint64_t forward_micros = 0;
};

// Not thread-safe. Functions that call SessionPorts::Configure may suspend the calling fiber. `now`
// must not decrease from call to call.
class Session {
 public:
  using Phase = Lifecycle::Phase;

  struct Options {
    std::string agent = {};              // the live agent at the root of the graph
    std::vector<Message> history = {};   // messages of the thread, oldest first
    std::string resumption_handle = {};  // continues an earlier session; the provider may refuse it
    SessionTimes times = {};
  };

  Session(SessionPorts& ports, Options options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Opens the first link.
  void Start();
  // Handles a frame of the client. Ignored while the session drains.
  void OnFrame(UpstreamFrame frame, Deadline now);
  // The client has disconnected: drains the session, and does not wait long for an answer that has
  // not begun.
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
  Phase phase() const { return lifecycle_.phase(); }
  const std::string& agent() const { return conversation_.agent(); }
  const SessionCounters& counters() const { return counters_; }
  // Size of the frames and texts that are kept in memory.
  size_t buffered_bytes() const {
    return upstream_.bytes() + conversation_.bytes() + unsent_results_.bytes();
  }

 private:
  // --- session.cc: the client, and the end ---
  void DrainForClient(Deadline now);
  void Drain(Deadline now, uint16_t code, std::string reason, Outcome outcome);
  bool Drained(Deadline now);
  // End of the wait for an answer that has not begun, when the client has gone.
  Deadline unheard_until() const;
  bool AnswerDue() const { return !turn_.idle() || !calls_.empty() || !unsent_results_.empty(); }
  void Forward(Deadline now);
  void Send(const UpstreamFrame& frame);
  void Close(Closing closing);

  // --- session_turns.cc: events of the model ---
  void OnContent() { reconnects_.Reset(); }  // the provider works
  void OnSpeechStarted();
  void OnInputTranscript(const realtime::Event& event, Deadline now);
  void OnAudio(std::string pcm);
  void OnTurnComplete(bool answer_due, Deadline now);
  void OnInterrupted();
  void InterruptPlayback();
  std::chrono::milliseconds StopPlayback();
  void RecordAnswer(std::string_view stop_reason);

  // --- session_links.cc: connections to the provider ---
  realtime::Link& link();  // requires an open link
  void OpenLink();
  realtime::LinkConfig ComposeLink();
  void AdvanceLink(Deadline now);
  void OnReady(Deadline now);
  void OnResumption(const std::string& handle);
  void OnGoAway(std::chrono::milliseconds time_left, Deadline now);
  bool ReplacementAllowed() const;
  bool ReplacementDue(Deadline now) const;
  void LeaveLink(Deadline now);
  void OnDepartingLinkEvent(const realtime::Event& event, Deadline now);
  void ReopenLink();
  void ReplaceLink(Deadline now);
  void OnClosed(const realtime::Event& event, Deadline now);
  bool CountFailure(Deadline now, const std::string& reason);

  // --- session_tools.cc: tool calls, and handover to another agent ---
  void OnToolCalls(std::vector<realtime::ToolCall> calls, Deadline now);
  void OnToolsCancelled(const std::vector<realtime::ToolCall>& calls, Deadline now);
  bool ToolsRun() const { return link_.in_use() && calls_.AnyOfLink(link_.number()); }
  bool MadeByCurrentLink(const PendingCalls::Batch& batch) const {
    return link_.in_use() && batch.link_number == link_.number();
  }
  void TakeResults(const PendingCalls::Batch& batch, std::vector<realtime::ToolReply> replies,
                   Deadline now);
  void HandOver(const std::string& target, const PendingCalls::Batch& batch,
                std::vector<realtime::ToolReply> replies, Deadline now);
  void SendUnsentResults();
  std::string KeepUnsentResults();

  SessionPorts& ports_;
  const SessionTimes times_;
  SessionCounters counters_;
  Lifecycle lifecycle_;

  // The client.
  UpstreamQueue upstream_;
  bool audio_sent_ = false;      // audio of the user since the last answer
  bool activity_begun_ = false;  // the client has signalled the start of speech

  // The link to the provider.
  LinkPhase link_;
  NextLink next_link_;
  Reconnects reconnects_;
  std::string entry_;   // LinkConfig::entry of the current link
  std::string handle_;  // resumption handle; empty: none

  // The conversation.
  Turn turn_;
  Conversation conversation_;
  PendingCalls calls_;
  UnsentResults unsent_results_;
};

}  // namespace agent_graph::live

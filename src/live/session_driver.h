// SessionDriver: drives a Session on its socket.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/exchange.h"
#include "live/closing.h"
#include "live/downstream.h"
#include "live/init_frame.h"
#include "live/journal.h"
#include "live/links.h"
#include "live/live_session.h"
#include "live/session.h"
#include "live/session_ports.h"
#include "live/tool_calls.h"
#include "live/upstream.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::live {

// Passes input from client, provider, tools and journal to the Session, and carries out what it
// requests. All calls are made on the session's fiber. Only Run and EndTools suspend. The arguments
// of the constructor outlive the object.
class SessionDriver final : public SessionPorts {
 public:
  SessionDriver(bridge::Exchange& exchange, const LiveContext& context, const InitFrame& init,
                const state::ThreadState& thread, std::shared_ptr<Journal> journal,
                run::CallMemory& memory);
  ~SessionDriver() override;

  // Runs the session until it is closed and returns the final status of the run.
  std::string Run();
  // Ends the session with an internal error, after an exception.
  void FailInternally();
  // Cancels tool calls in progress, because their results are not needed any more. Messages that
  // they have produced are still stored.
  void EndTools();
  // Sends the items that are still queued, then closes the socket. Call it after the session has
  // ended.
  void CloseSocket();

  // --- SessionPorts ---
  Deadline Now() override { return MonotonicClock::now(); }
  void Emit(std::string event) override;
  void EmitLast(std::string event) override { downstream_.AddLastEvent(std::move(event)); }
  void EmitAudio(std::string pcm) override;
  void FlushAudio() override { downstream_.FlushAudio(); }
  std::chrono::milliseconds Unplayed() override;
  realtime::LinkConfig Configure(const std::string& agent) override;
  std::vector<std::string> HandoverTargets(const std::string& agent) override;
  void OpenLink(const realtime::LinkConfig& config) override { links_.Open(config); }
  void CloseLink() override { links_.Close(); }
  realtime::Link* link() override { return links_.current(); }
  void PrepareNextLink(const realtime::LinkConfig& config) override { links_.PrepareNext(config); }
  void BeginNextLink(const realtime::LinkConfig& config) override { links_.BeginNext(config); }
  void DropNextLink() override { links_.DropNext(); }
  bool OneLinkAtATime() override { return links_.one_at_a_time(); }
  bool LinksResume() override { return links_.resume(); }
  size_t UpstreamBytesMax() override;
  void CallTools(std::vector<realtime::ToolCall> calls, uint64_t number) override;
  void Store(Message message) override { journal_->Append(std::move(message)); }
  void RecordAnswer(Deadline since, std::string_view stop_reason) override;
  void StoreHandle(std::string handle) override;
  void Warn(const std::string& line) override;
  void Close(Closing closing) override;

 private:
  // Wake-up signal of a session. Shared ownership, because callbacks may outlive the session.
  struct Wakeup {
    runtime::Signal signal;
    std::vector<std::string> stored_handles;
  };

  bool TakeFrames();
  std::optional<UpstreamFrame> Read(bridge::SocketMessage message);
  bool HasRoom() const;
  void TakeEvents();
  void TakeResults();
  // True if the state service is too far behind.
  bool IsStoredTooSlowly(Deadline now);
  void CheckEnd();
  void CheckClient(Deadline now);
  void CheckCancellation();
  void FailLost();
  void FailStopped();
  void Write();
  void SendItem(const Downstream::Item& item);
  void UpdateCounters();
  void CountMemory();

  bridge::Exchange& exchange_;
  const LiveContext& context_;
  const InitFrame& init_;
  const runtime::Cancellation cancellation_;
  const std::shared_ptr<Journal> journal_;
  const std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
  const std::shared_ptr<ToolCalls> tools_;
  Downstream downstream_;
  Links links_;
  bool stopped_ = false;                    // POST /v1/graph/stop ended the session
  Deadline unwritten_until_ = kNoDeadline;  // too much waits for the state service; see CheckEnd
  // kAdded, or why the queue could not take an event: the first reason, which ends the session.
  Downstream::Added added_ = Downstream::Added::kAdded;
  Closing closing_;
  Deadline arrived_{};  // arrival time of the event being handled
  SessionCounters counted_;
  int64_t buffered_ = 0;  // bytes counted for the worker
  Session session_;
};

}  // namespace agent_graph::live

#include "live/live_session.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "live/agent_config.h"
#include "live/downstream.h"
#include "live/events.h"
#include "live/journal.h"
#include "live/links.h"
#include "live/place.h"
#include "live/session.h"
#include "live/thread_memory.h"
#include "live/tool_calls.h"
#include "realtime/registry.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"
#include "runtime/yield.h"
#include "websocket/protocol.h"

namespace agent_graph::live {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kToolsEndMax{5};
constexpr std::chrono::seconds kToolsListMax{10};
constexpr size_t kUnwrittenMax = 8 * 1024 * 1024;  // bytes that may wait for the state service
// Frames handled before other fibers get a turn: a client may send as fast as its frames are taken.
constexpr int kFramesInARow = 64;
constexpr size_t kParsedHereMax = 64 * 1024;  // larger JSON texts are parsed on the io pool

std::string Frame(websocket::Opcode opcode, std::string_view payload) {
  std::string frame;
  frame.reserve(payload.size() + 10);
  websocket::AppendFrame(frame, opcode, payload);
  return frame;
}

Session::Options SessionOptions(const LiveContext& context, const run::Runner::BegunRun& begun,
                                const InitFrame& init) {
  Session::Options options;
  options.agent = context.graph->live_root()->name;
  options.history = History(begun.reply.state);
  options.resumption_handle = init.resumption_handle.empty()
                                  ? StoredHandle(begun.reply.state.record)
                                  : init.resumption_handle;
  return options;
}

Journal::Options JournalOptions(const LiveContext& context, run::RunRequest request,
                                run::Runner::BegunRun begun) {
  Journal::Options options;
  options.state = context.state;
  options.request = std::move(request);
  options.environment = std::move(begun.environment);
  options.begun = std::move(begun.reply);
  options.node = context.graph->live_root()->name;
  return options;
}

// Wake-up signal of a session. Shared ownership, because callbacks may outlive the session.
struct News {
  runtime::Signal signal;
  std::vector<std::string> stored_handles;
};

class LiveSession final : public SessionPorts {
 public:
  LiveSession(bridge::Exchange& exchange, const LiveContext& context, const InitFrame& init,
              const run::Runner::BegunRun& begun, std::shared_ptr<Journal> journal)
      : exchange_(exchange),
        context_(context),
        init_(init),
        cancellation_(exchange.message_cancellation()),
        journal_(std::move(journal)),
        tools_(std::make_shared<ToolCalls>(journal_, [news = news_] { news->signal.Notify(); })),
        downstream_({}),
        links_([news = news_] { news->signal.Notify(); }),
        session_(*this, SessionOptions(context, begun, init)) {
    exchange_.NotifyArrivals(&news_->signal);
    journal_->OnEnd([news = news_] { news->signal.Notify(); });
  }

  ~LiveSession() override {
    tools_->Abandon();
    exchange_.NotifyArrivals(nullptr);
    exchange_.CountBuffered(-buffered_);
  }

  // Runs the session until it is closed and returns the final status of the run.
  std::string Run() {
    session_.Start(MonotonicClock::now());
    while (session_.phase() != Session::Phase::kClosed) {
      const bool took_all = TakeFrames();
      TakeEvents();
      TakeResults();
      CheckEnd();
      session_.Advance(MonotonicClock::now());
      Write();
      CountNews();
      if (session_.phase() == Session::Phase::kClosed) break;
      const Deadline wake = std::min(session_.wake_at(), links_.wake_at());
      // A wait with a deadline in the past would not let other fibers run.
      const bool more = !took_all || wake <= MonotonicClock::now();
      if (more && !cancellation_.cancelled()) {
        runtime::Yield();
        continue;
      }
      news_->signal.Wait(&cancellation_, wake);
    }
    return status_;
  }

  // --- SessionPorts ---
  void Emit(std::string event) override {
    if (downstream_.full()) Write();
    if (!downstream_.AddEvent(std::move(event))) client_stuck_ = true;
  }
  void EmitAudio(std::string pcm) override {
    if (!HasRoom()) {
      ++context_.counters->downstream_dropped;
      return;
    }
    context_.counters->downstream_dropped += downstream_.AddAudio(std::move(pcm), arrived_);
  }
  void FlushAudio() override { downstream_.FlushAudio(); }
  milliseconds Unplayed() override { return downstream_.Unplayed(MonotonicClock::now()); }

  realtime::LinkConfig Configure(const std::string& agent) override {
    const LiveAgent& live_agent = *context_.graph->FindLiveAgent(agent);
    const run::RunEnvironment& environment = *journal_->environment();
    tools_->Offer(
        live_agent.tool_node,
        // No remote tools: live clients do not run tools.
        FilterTools(run::ToolsOf(environment.graph, live_agent.tool_node, environment.catalog,
                                 nullptr, cancellation_, DeadlineAfter(kToolsListMax)),
                    live_agent, init_));
    links_.Use(context_.models->Find(live_agent.model));
    return ComposeConfig(*context_.graph, agent, init_, tools_->offered());
  }
  std::vector<std::string> HandoverTargets(const std::string& agent) override {
    return context_.graph->HandoverTargets(agent);
  }
  void OpenLink(const realtime::LinkConfig& config) override { links_.Open(config); }
  void CloseLink() override { links_.Close(); }
  realtime::Link* link() override { return links_.present(); }
  void PrepareNextLink(const realtime::LinkConfig& config) override { links_.PrepareNext(config); }
  void BeginNextLink(const realtime::LinkConfig& config) override { links_.BeginNext(config); }
  void DropNextLink() override { links_.DropNext(); }
  bool OneLinkAtATime() override { return links_.one_at_a_time(); }
  bool LinksResume() override { return links_.resume(); }
  size_t UpstreamBytesMax() override {
    return UpstreamShare(context_.buffered_bytes_max, context_.counters->sessions);
  }

  void CallTools(std::vector<realtime::ToolCall> calls, uint64_t number) override {
    tools_->Call(std::move(calls), number);
  }
  void Store(Message message) override { journal_->Append(std::move(message)); }
  void RecordAnswer(Deadline since, std::string_view stop_reason) override {
    const Deadline now = MonotonicClock::now();
    journal_->AddModelCall(session_.agent(), context_.graph->FindLiveAgent(session_.agent())->model,
                           now - std::min(since, now), stop_reason);
  }
  void StoreHandle(std::string handle) override {
    journal_->StoreHandle(handle, [news = news_, handle] {
      news->stored_handles.push_back(handle);
      news->signal.Notify();
    });
  }
  void Warn(const std::string& line) override {
    journal_->environment()->Log(LogLevel::kWarning, session_.agent(), line);
  }
  void Close(uint16_t code, std::string reason, std::string outcome) override {
    status_ = outcome == "error" ? "error" : stopped_ ? "stopped" : "done";
    close_ = {code, std::move(reason), std::move(outcome)};
  }

  // Ends the session after an exception.
  void Break() { session_.Fail("internal", "internal error", websocket::close_code::kInternal); }

  // Cancels tool calls in progress, because their results are not needed any more. Messages that
  // they have produced are still stored.
  void EndTools() {
    cancellation_.Cancel(runtime::CancelReason::kStopped);
    tools_->Wait(DeadlineAfter(kToolsEndMax));
    TakeResults();
  }

  // Sends the items that are still queued, then closes the socket. Call it after the session has
  // ended.
  void CloseSocket() {
    AG_CHECK(session_.phase() == Session::Phase::kClosed, "a session ends before its socket");
    for (auto item = downstream_.Take({}); item; item = downstream_.Take({})) SendItem(*item);
    exchange_.CloseSocket(close_.code, close_.reason, close_.outcome);
  }

 private:
  struct Closing {
    uint16_t code = websocket::close_code::kInternal;
    std::string reason = {};
    std::string outcome = {};
  };

  // Takes frames from the mailbox. Returns false if there may be more and other fibers should run
  // first.
  bool TakeFrames() {
    for (int taken = 0; taken < kFramesInARow; ++taken) {
      auto message = exchange_.TakeMessage();
      if (!message) return true;
      std::optional<UpstreamFrame> frame = Read(*std::move(message));
      if (!frame) {
        ++context_.counters->upstream_ignored;
      } else if (frame->kind == UpstreamFrame::Kind::kAudio && !HasRoom()) {
        ++context_.counters->upstream_dropped;
      } else {
        session_.OnFrame(*std::move(frame), MonotonicClock::now());
      }
    }
    return false;
  }

  std::optional<UpstreamFrame> Read(bridge::SocketMessage message) {
    if (message.binary || message.payload.size() <= kParsedHereMax) {
      return ReadUpstreamFrame(std::move(message));
    }
    std::optional<UpstreamFrame> frame;
    journal_->environment()->runtime->RunOnIoPool(
        [&] { frame = ReadUpstreamFrame(std::move(message)); });
    return frame;
  }

  // True if the worker's limit of buffered bytes allows more audio.
  bool HasRoom() const { return exchange_.worker_buffered_bytes() < context_.buffered_bytes_max; }

  void TakeEvents() {
    while (auto event = links_.TakeEvent()) {
      arrived_ = event->arrived;
      session_.OnLinkEvent(*std::move(event), MonotonicClock::now());
      session_.Advance(MonotonicClock::now());
    }
    while (auto event = links_.TakeEventOfNext()) {
      session_.OnNextLinkEvent(*event);
      session_.Advance(MonotonicClock::now());
    }
  }

  void TakeResults() {
    while (auto batch = tools_->TakeFinished()) {
      session_.OnToolReplies(std::move(batch->replies), std::move(batch->messages), batch->number,
                             MonotonicClock::now());
    }
    for (const std::string& handle : std::exchange(news_->stored_handles, {})) {
      session_.OnHandleStored(handle);
    }
  }

  void CheckEnd() {
    const Deadline now = MonotonicClock::now();
    // A reply to a write may report a stop before the signal of that stop arrives.
    if (journal_->stop_requested()) FailStopped();
    if (exchange_.leaving()) session_.OnLeave(now);
    if (exchange_.mailbox_drained()) session_.OnDisconnect(now);
    if (journal_->lost()) {
      session_.Fail("thread_lost", "the thread was deleted, or another run has it",
                    websocket::close_code::kInternal);
    }
    if (journal_->unwritten_bytes() > kUnwrittenMax) {
      session_.Fail("storage_unavailable", "what is said cannot be kept",
                    websocket::close_code::kInternal);
    }
    if (client_stuck_) {
      session_.Fail("slow_client", "the client does not read", websocket::close_code::kPolicy);
    }
    switch (cancellation_.reason()) {
      case runtime::CancelReason::kNone:
        return;
      case runtime::CancelReason::kDeadline:
        return session_.Fail("session_timeout", "nothing was heard for too long",
                             websocket::close_code::kNormal);
      case runtime::CancelReason::kStopped:
        return FailStopped();
      case runtime::CancelReason::kShutdown:
        return session_.Fail("shutdown", "the service is shutting down",
                             websocket::close_code::kGoingAway);
      case runtime::CancelReason::kClientGone:
        return session_.Fail("client_gone", "the client has gone", websocket::close_code::kNormal);
    }
  }

  void FailStopped() {
    stopped_ = true;
    session_.Fail("stopped", "the session was stopped", websocket::close_code::kNormal);
  }

  // Keeps the queue outside short, so that an interruption can still discard audio that was not
  // played.
  void Write() {
    const auto high = static_cast<int64_t>(exchange_.credit_limits().high);
    while (exchange_.queued_bytes() < high) {
      std::optional<Downstream::Item> item = downstream_.Take(MonotonicClock::now());
      if (!item) break;
      SendItem(*item);
    }
  }

  void SendItem(const Downstream::Item& item) {
    if (item.arrived != Deadline()) {
      const auto stay = std::chrono::duration_cast<std::chrono::microseconds>(
          MonotonicClock::now() - item.arrived);
      ++context_.counters->sound_forwarded;
      context_.counters->sound_micros += static_cast<uint64_t>(stay.count());
    }
    exchange_.SendLast(
        Frame(item.audio ? websocket::Opcode::kBinary : websocket::Opcode::kText, item.payload));
  }

  void CountNews() {
    const SessionCounters& now = session_.counters();
    context_.counters->reconnects += now.reconnects - counted_.reconnects;
    context_.counters->upstream_dropped += now.frames_dropped - counted_.frames_dropped;
    context_.counters->frames_forwarded += now.frames_forwarded - counted_.frames_forwarded;
    context_.counters->forward_micros += now.forward_micros - counted_.forward_micros;
    counted_ = now;
    const auto held = static_cast<int64_t>(session_.buffered_bytes() + downstream_.bytes() +
                                           journal_->unwritten_bytes());
    exchange_.CountBuffered(held - buffered_);
    buffered_ = held;
  }

  bridge::Exchange& exchange_;
  const LiveContext& context_;
  const InitFrame& init_;
  const runtime::Cancellation cancellation_;
  const std::shared_ptr<Journal> journal_;
  const std::shared_ptr<News> news_ = std::make_shared<News>();
  const std::shared_ptr<ToolCalls> tools_;
  Downstream downstream_;
  Links links_;
  std::string status_ = "error";
  bool stopped_ = false;
  Closing close_;
  bool client_stuck_ = false;
  Deadline arrived_{};  // arrival time of the event being handled
  SessionCounters counted_;
  int64_t buffered_ = 0;  // bytes counted for the worker
  Session session_;
};

void RefuseBegin(bridge::Exchange& exchange, const Status& status) {
  switch (status.code()) {
    case StatusCode::kPermissionDenied:
      return Refuse(exchange, "not_authorized", status.message(), websocket::close_code::kPolicy);
    case StatusCode::kInvalidArgument:
      return Refuse(exchange, "invalid_config", status.message(),
                    websocket::close_code::kUnsupportedData);
    case StatusCode::kBusy:
      return Refuse(exchange, "thread_busy", status.message(),
                    websocket::close_code::kTryAgainLater);
    case StatusCode::kCancelled:
      // Stopped while it waited for the thread.
      return Refuse(exchange, "stopped", status.message(), websocket::close_code::kNormal);
    default:
      return Refuse(exchange, std::string(StatusCodeName(status.code())), status.message(),
                    websocket::close_code::kInternal);
  }
}

}  // namespace

void Refuse(bridge::Exchange& exchange, const std::string& code, const std::string& message,
            uint16_t close_code) {
  exchange.SendLast(Frame(websocket::Opcode::kText, ErrorEvent(code, message, true)));
  exchange.CloseSocket(close_code, code,
                       close_code == websocket::close_code::kInternal ? "error" : "rejected");
}

void RunSession(bridge::Exchange& exchange, const LiveContext& context, run::RunRequest request,
                const InitFrame& init) {
  const Place place(*context.counters, context.sessions_max);
  if (!place.taken()) {
    return Refuse(exchange, "too_many_sessions", "this worker has no room for another session",
                  websocket::close_code::kTryAgainLater);
  }
  Result<run::Runner::BegunRun> begun =
      context.runner->Begin(request, exchange.message_cancellation());
  if (!begun.ok()) return RefuseBegin(exchange, begun.status());
  exchange.Annotate(begun->environment->thread_id, begun->environment->run_id);
  auto journal = std::make_shared<Journal>(JournalOptions(context, std::move(request), *begun));
  std::string status = "error";
  auto session = std::make_unique<LiveSession>(exchange, context, init, *begun, journal);
  try {
    status = session->Run();
  } catch (const std::exception& failure) {
    journal->environment()->Log(LogLevel::kError, "", failure.what());
    session->Break();
  }
  // Release the lease before closing: a client that reconnects at once must find its thread free.
  session->EndTools();
  journal->Finish(status);
  session->CloseSocket();
}

}  // namespace agent_graph::live

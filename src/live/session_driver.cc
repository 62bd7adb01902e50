#include "live/session_driver.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "graph/compiled_graph.h"
#include "live/agent_config.h"
#include "live/events.h"
#include "live/thread_memory.h"
#include "realtime/registry.h"
#include "runtime/large_work.h"
#include "runtime/runtime.h"
#include "runtime/yield.h"
#include "websocket/protocol.h"

namespace agent_graph::live {

using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds kToolsEndMax{5};
constexpr std::chrono::seconds kToolsListMax{10};
// Bytes that may wait for the state service. A client's frames that have waited for the provider
// come at once, so more may wait for a while.
constexpr size_t kUnwrittenMax = 8 * 1024 * 1024;
constexpr std::chrono::seconds kMoreUnwrittenMax{10};
// Frames handled before other fibers get a turn: a client may send as fast as its frames are taken.
constexpr int kFramesInARow = 64;
// The texts of the init frame are also in the configurations of the link and of the next one.
constexpr size_t kInitCopies = 3;

Session::Options SessionOptions(const LiveContext& context, const state::ThreadState& thread,
                                const InitFrame& init) {
  Session::Options options;
  options.agent = context.graph->live_root()->name;
  options.history = StoredMessages(thread);
  options.resumption_handle =
      init.resumption_handle.empty() ? StoredHandle(thread.record) : init.resumption_handle;
  return options;
}

}  // namespace

SessionDriver::SessionDriver(bridge::Exchange& exchange, const LiveContext& context,
                             const InitFrame& init, const state::ThreadState& thread,
                             std::shared_ptr<Journal> journal, run::CallMemory& memory)
    : exchange_(exchange),
      context_(context),
      init_(init),
      cancellation_(exchange.active_cancellation()),
      journal_(std::move(journal)),
      tools_(std::make_shared<ToolCalls>(
          journal_, [wakeup = wakeup_] { wakeup->signal.Notify(); }, &memory)),
      downstream_({}),
      links_([wakeup = wakeup_] { wakeup->signal.Notify(); }),
      session_(*this, SessionOptions(context, thread, init)) {
  exchange_.socket().NotifyArrivals(&wakeup_->signal);
  journal_->OnEnd([wakeup = wakeup_] { wakeup->signal.Notify(); });
  CountMemory();
}

SessionDriver::~SessionDriver() {
  tools_->Abandon();
  exchange_.socket().NotifyArrivals(nullptr);
  exchange_.CountBuffered(-buffered_);
}

std::string SessionDriver::Run() {
  session_.Start();
  while (session_.phase() != Session::Phase::kClosed) {
    const bool took_all = TakeFrames();
    TakeEvents();
    TakeResults();
    CheckEnd();
    session_.Advance(MonotonicClock::now());
    Write();
    UpdateCounters();
    if (session_.phase() == Session::Phase::kClosed) break;
    const Deadline wake = std::min(
        {session_.wake_at(), links_.wake_at(), unwritten_until_, downstream_.stalled_at()});
    // A wait with a deadline in the past would not let other fibers run.
    const bool more = !took_all || wake <= MonotonicClock::now();
    if (more && !cancellation_.cancelled()) {
      runtime::Yield();
      continue;
    }
    wakeup_->signal.Wait(&cancellation_, wake);
  }
  if (closing_.outcome == Outcome::kError) return "error";
  return stopped_ ? "stopped" : "done";
}

void SessionDriver::FailInternally() {
  session_.Fail("internal", "internal error", websocket::close_code::kInternal);
}

void SessionDriver::EndTools() {
  cancellation_.Cancel(runtime::CancelReason::kStopped);
  tools_->Wait(DeadlineAfter(kToolsEndMax));
  TakeResults();
  CountMemory();
}

void SessionDriver::CloseSocket() {
  AG_CHECK(session_.phase() == Session::Phase::kClosed, "a session ends before its socket");
  for (auto item = downstream_.Take({}); item; item = downstream_.Take({})) SendItem(*item);
  exchange_.CloseSocket(closing_.code, closing_.reason, OutcomeName(closing_.outcome));
}

// --- input ------------------------------------------------------------------------------------

// Takes frames from the mailbox. Returns false if there may be more and other fibers should run
// first.
bool SessionDriver::TakeFrames() {
  for (int taken = 0; taken < kFramesInARow; ++taken) {
    auto message = exchange_.socket().TakeMessage();
    if (!message) return true;
    std::optional<UpstreamFrame> frame = Read(*std::move(message));
    if (!frame) {
      ++context_.counters->upstream_ignored;
    } else if (frame->kind == UpstreamFrame::Kind::kAudio && !HasRoom()) {
      ++context_.counters->upstream_dropped;
    } else {
      session_.OnFrame(*std::move(frame), MonotonicClock::now());
    }
    // Not only after all frames: reading the next one may suspend this fiber, and the frame before
    // is no longer counted as part of the mailbox.
    CountMemory();
  }
  return false;
}

std::optional<UpstreamFrame> SessionDriver::Read(bridge::SocketMessage message) {
  const size_t parsed_bytes = message.binary ? 0 : message.payload.size();
  std::optional<UpstreamFrame> frame;
  runtime::RunSized(parsed_bytes, [&] { frame = ReadUpstreamFrame(std::move(message)); });
  return frame;
}

// True if the worker's limit of buffered bytes allows more audio.
bool SessionDriver::HasRoom() const {
  return exchange_.worker_buffered_bytes() < context_.buffered_bytes_max;
}

void SessionDriver::TakeEvents() {
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

void SessionDriver::TakeResults() {
  while (auto batch = tools_->TakeFinished()) {
    session_.OnToolReplies(std::move(batch->replies), std::move(batch->messages), batch->number,
                           MonotonicClock::now());
  }
  for (const std::string& handle : std::exchange(wakeup_->stored_handles, {})) {
    session_.OnHandleStored(handle);
  }
}

bool SessionDriver::IsStoredTooSlowly(Deadline now) {
  const size_t unwritten = journal_->unwritten_bytes();
  if (unwritten <= kUnwrittenMax) {
    unwritten_until_ = kNoDeadline;
    return false;
  }
  if (unwritten_until_ == kNoDeadline) unwritten_until_ = now + kMoreUnwrittenMax;
  if (now < unwritten_until_ && unwritten <= kUnwrittenMax + UpstreamBytesMax()) return false;
  unwritten_until_ = kNoDeadline;
  return true;
}

void SessionDriver::CheckEnd() {
  const Deadline now = MonotonicClock::now();
  // A reply to a write may report a stop before the signal of that stop arrives.
  if (journal_->stop_requested()) FailStopped();
  if (exchange_.socket().leaving()) session_.OnLeave(now);
  if (exchange_.socket().drained()) session_.OnDisconnect(now);
  if (journal_->lost()) FailLost();
  if (IsStoredTooSlowly(now)) {
    session_.Fail("storage_unavailable", "the conversation cannot be stored",
                  websocket::close_code::kInternal);
  }
  CheckClient(now);
  CheckCancellation();
}

// Ends the session if too many events wait for the client.
void SessionDriver::CheckClient(Deadline now) {
  const bool stalled = downstream_.IsStalled(exchange_.queued_bytes(), now);
  if (added_ == Downstream::Added::kWorkerFull) {
    session_.Fail("server_busy", "the server is busy", websocket::close_code::kTryAgainLater);
  } else if (stalled || added_ == Downstream::Added::kLimitReached) {
    session_.Fail("slow_client", "the client does not read its events",
                  websocket::close_code::kPolicy);
  }
}

void SessionDriver::CheckCancellation() {
  switch (cancellation_.reason()) {
    case runtime::CancelReason::kNone:
      return;
    case runtime::CancelReason::kDeadline:
      return session_.Fail("session_timeout", "the session was inactive for too long",
                           websocket::close_code::kNormal);
    case runtime::CancelReason::kStopped:
      return FailStopped();
    case runtime::CancelReason::kShutdown:
      return session_.Fail("shutdown", "the service is shutting down",
                           websocket::close_code::kGoingAway);
    case runtime::CancelReason::kClientGone:
      return session_.Fail("client_gone", "the client has disconnected",
                           websocket::close_code::kNormal);
  }
}

void SessionDriver::FailLost() {
  session_.Fail("thread_lost", "the thread was deleted or is in use by another run",
                websocket::close_code::kInternal);
}

void SessionDriver::FailStopped() {
  if (session_.phase() == Session::Phase::kClosed) return;
  CountMemory();  // the state service may take long to answer
  if (journal_->IsDeleted()) return FailLost();
  stopped_ = true;
  session_.Fail("stopped", "the session was stopped", websocket::close_code::kNormal);
}

// --- output -----------------------------------------------------------------------------------

// Keeps the exchange's queue short, so that an interruption can still discard audio that was not
// played.
void SessionDriver::Write() {
  const auto high = static_cast<int64_t>(exchange_.credit_limits().high);
  while (exchange_.queued_bytes() < high) {
    std::optional<Downstream::Item> item = downstream_.Take(MonotonicClock::now());
    if (!item) break;
    SendItem(*item);
  }
}

void SessionDriver::SendItem(const Downstream::Item& item) {
  if (item.arrived != Deadline()) {
    const auto stay =
        std::chrono::duration_cast<std::chrono::microseconds>(MonotonicClock::now() - item.arrived);
    ++context_.counters->audio_forwarded;
    context_.counters->audio_micros += static_cast<uint64_t>(stay.count());
  }
  exchange_.SendLast(websocket::MakeFrame(
      item.audio ? websocket::Opcode::kBinary : websocket::Opcode::kText, item.payload));
}

void SessionDriver::UpdateCounters() {
  const SessionCounters& now = session_.counters();
  context_.counters->reconnects += now.reconnects - counted_.reconnects;
  context_.counters->upstream_dropped += now.frames_dropped - counted_.frames_dropped;
  context_.counters->frames_forwarded += now.frames_forwarded - counted_.frames_forwarded;
  context_.counters->forward_micros += now.forward_micros - counted_.forward_micros;
  counted_ = now;
  CountMemory();
}

void SessionDriver::CountMemory() {
  const auto held =
      static_cast<int64_t>(kInitCopies * init_.bytes() + session_.buffered_bytes() +
                           links_.held_bytes() + downstream_.bytes() + journal_->held_bytes());
  exchange_.CountBuffered(held - buffered_);
  buffered_ = held;
}

// --- SessionPorts -----------------------------------------------------------------------------

void SessionDriver::Emit(std::string event) {
  if (downstream_.full()) Write();
  const Downstream::Added added = downstream_.AddEvent(std::move(event), HasRoom());
  if (added_ == Downstream::Added::kAdded) added_ = added;
}

void SessionDriver::EmitAudio(std::string pcm) {
  if (!HasRoom()) {
    ++context_.counters->downstream_dropped;
    return;
  }
  context_.counters->downstream_dropped += downstream_.AddAudio(std::move(pcm), arrived_);
}

milliseconds SessionDriver::Unplayed() {
  return downstream_.Unplayed(MonotonicClock::now());
}

realtime::LinkConfig SessionDriver::Configure(const std::string& agent) {
  CountMemory();  // the list of a server's tools may take long
  const LiveAgent& live_agent = *context_.graph->FindLiveAgent(agent);
  const run::RunEnvironment& environment = *journal_->environment();
  tools_->Offer(live_agent.tool_node,
                // No remote tools: live clients do not run tools.
                FilterTools(run::ToolsOf(environment.graph, live_agent.tool_node,
                                         environment.services->catalog, nullptr, cancellation_,
                                         DeadlineAfter(kToolsListMax)),
                            live_agent, init_));
  links_.Use(context_.models->Find(live_agent.model));
  return ComposeConfig(*context_.graph, agent, init_, tools_->offered());
}

std::vector<std::string> SessionDriver::HandoverTargets(const std::string& agent) {
  return context_.graph->HandoverTargets(agent);
}

size_t SessionDriver::UpstreamBytesMax() {
  return UpstreamShare(context_.buffered_bytes_max, context_.counters->sessions);
}

void SessionDriver::CallTools(std::vector<realtime::ToolCall> calls, uint64_t number) {
  tools_->Call(std::move(calls), number);
}

void SessionDriver::RecordAnswer(Deadline since, std::string_view stop_reason) {
  const Deadline now = MonotonicClock::now();
  journal_->AddModelCall(session_.agent(), context_.graph->FindLiveAgent(session_.agent())->model,
                         now - std::min(since, now), stop_reason);
}

void SessionDriver::StoreHandle(std::string handle) {
  journal_->StoreHandle(handle, [wakeup = wakeup_, handle] {
    wakeup->stored_handles.push_back(handle);
    wakeup->signal.Notify();
  });
}

void SessionDriver::Warn(const std::string& line) {
  journal_->environment()->Log(LogLevel::kWarning, session_.agent(), line);
}

void SessionDriver::Close(Closing closing) {
  closing_ = std::move(closing);
}

}  // namespace agent_graph::live

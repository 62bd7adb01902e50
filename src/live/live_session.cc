#include "live/live_session.h"

#include <memory>
#include <utility>

#include "base/free_memory.h"
#include "graph/compiled_graph.h"
#include "live/closing.h"
#include "live/events.h"
#include "live/journal.h"
#include "live/session_driver.h"
#include "live/session_slot.h"
#include "websocket/protocol.h"

namespace agent_graph::live {
namespace {

Journal::Options JournalOptions(const LiveContext& context, run::RunRequest request,
                                run::Runner::BegunRun begun) {
  Journal::Options options;
  options.state = context.state;
  options.request = std::move(request);
  options.environment = std::move(begun.environment);
  options.begun = std::move(begun.reply);
  options.begun.state.window.clear();  // may be large
  options.node = context.graph->live_root()->name;
  return options;
}

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
  exchange.SendLast(
      websocket::MakeFrame(websocket::Opcode::kText, ErrorEvent(code, message, true)));
  exchange.CloseSocket(close_code, code, OutcomeName(OutcomeOfError(close_code)));
}

void RunSession(bridge::Exchange& exchange, const LiveContext& context, run::RunRequest request,
                const InitFrame& init, run::CallMemory& memory) {
  const SessionSlot slot(*context.counters, context.sessions_max);
  if (!slot.taken()) {
    return Refuse(exchange, "too_many_sessions",
                  "the worker has reached its limit of live sessions",
                  websocket::close_code::kTryAgainLater);
  }
  Result<run::Runner::BegunRun> begun =
      context.runner->Begin(request, exchange.active_cancellation(),
                            [&](uint64_t bytes) { return memory.AwaitMemory(bytes); });
  if (!begun.ok()) return RefuseBegin(exchange, begun.status());
  exchange.Annotate(begun->environment->thread_id, begun->environment->run_id);
  auto journal = std::make_shared<Journal>(JournalOptions(context, std::move(request), *begun));
  std::string status = "error";
  auto session =
      std::make_unique<SessionDriver>(exchange, context, init, begun->reply.state, journal, memory);
  // The session has taken what it needs of the thread.
  FreeMemory(begun->reply.state);
  memory.HoldCalls(0);
  try {
    status = session->Run();
  } catch (const std::exception& failure) {
    journal->environment()->Log(LogLevel::kError, "", failure.what());
    session->FailInternally();
  }
  // Release the lease before closing: a client that reconnects at once must find its thread free.
  session->EndTools();
  journal->Finish(status);
  session->CloseSocket();
}

}  // namespace agent_graph::live

#include "run/entry_events.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "run/run_events.h"
#include "runtime/cancellation.h"
#include "state/rules/lost_run.h"

namespace agent_graph::run {
namespace {

// True if the client sees the message: those of nodes, and results that it sent for its own tools.
bool IsShown(const entry::MessageAdded& message) {
  if (!message.node.empty()) return true;
  return std::ranges::find(message.blocks, "tool_result") != message.blocks.end();
}

// The error of a run whose end was written by the state: its worker wrote none.
std::optional<Status> ErrorOfLostRun(const entry::RunFinished& finished) {
  if (finished.status != RunStatus::kError || finished.reason.empty()) return std::nullopt;
  // A cancelled run has written its error itself.
  for (const runtime::CancelReason reason :
       {runtime::CancelReason::kDeadline, runtime::CancelReason::kShutdown}) {
    if (finished.reason == runtime::CancelReasonName(reason)) return std::nullopt;
  }
  std::string text = "the run was lost: " + finished.reason;
  if (finished.reason == state::kWorkerLost) text = "the worker that executed the run has ended";
  if (finished.reason == state::kEndNotStored) text = "the end of the run could not be stored";
  if (finished.reason == state::kPoisoned) text = "the run has crashed its workers";
  if (finished.reason == state::kTooManyAttempts) {
    text = "the run was attempted too often without progress";
  }
  return Status(StatusCode::kUnavailable, std::move(text));
}

}  // namespace

StatusCode CodeNamed(std::string_view name) {
  for (int code = 0; code <= static_cast<int>(StatusCode::kBudgetExceeded); ++code) {
    if (name == StatusCodeName(static_cast<StatusCode>(code))) return static_cast<StatusCode>(code);
  }
  return StatusCode::kInternal;
}

Result<std::optional<RunEvent>> EventOf(const EntryBody& body, int step,
                                        const MessageLookup& message) {
  if (const auto* added = std::get_if<entry::MessageAdded>(&body)) {
    if (!IsShown(*added)) return std::optional<RunEvent>();
    Result<std::string> text = message(added->message_id);
    if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
      return std::optional<RunEvent>();
    }
    AG_RETURN_IF_ERROR(text.status());
    return std::optional(
        MessageEvent(*std::move(text), added->node, added->node.empty() ? 0 : step));
  }
  if (const auto* failed = std::get_if<entry::RunFailed>(&body)) {
    return std::optional(
        ErrorEvent(Status(CodeNamed(failed->code), failed->reason), failed->node, step));
  }
  if (const auto* finished = std::get_if<entry::RunFinished>(&body)) {
    if (std::optional<Status> lost = ErrorOfLostRun(*finished)) {
      return std::optional(ErrorEvent(*lost, "", step));
    }
  }
  return std::optional<RunEvent>();
}

}  // namespace agent_graph::run

// GET /v1/evals/runs and /v1/evals/runs/{run_id}: reports of evaluations.
#include <algorithm>
#include <optional>

#include "api/http/context.h"
#include "api/http/page_reads.h"
#include "api/http/request_memory.h"
#include "api/resources/handlers.h"
#include "base/clock.h"
#include "evals/view.h"
#include "runtime/runtime.h"

namespace agent_graph::api {
namespace {

// Copies of a report while it is read: its text, the parsed tree, the report made from it, and the
// reply.
constexpr uint64_t kReportCopies = 5;

// Waits until the worker has room for parsing files of `bytes`. Counts at most half of the bound:
// otherwise a client without a credential could keep all other requests out.
std::optional<ErrorInfo> AwaitReportMemory(HandlerContext& context, uint64_t bytes) {
  const uint64_t bytes_max = context.api().settings->limits.buffered_bytes_max / 2;
  const Status room = context.exchange().AwaitMemory(std::min(kReportCopies * bytes, bytes_max),
                                                     DeadlineAfter(kMemoryWaitMax));
  if (room.ok()) return std::nullopt;
  return room.code() == StatusCode::kDeadlineExceeded ? NoRoomError() : ErrorOf(room);
}

// Requests wait here as fibers for their turn, because in the directory they would wait on threads
// of the io pool, which other requests need.
std::optional<ErrorInfo> EnterReports(HandlerContext& context, PageReads::Place& place) {
  if (auto error = EnterPageReads(context.exchange(), *context.api().report_reads,
                                  context.api().settings->limits, place)) {
    return error;
  }
  uint64_t bytes = 0;
  context.api().runtime->RunOnIoPool([&] { bytes = context.api().reports->LargestUnread(); });
  return AwaitReportMemory(context, bytes);
}

}  // namespace

void ListEvalRuns(HandlerContext& context) {
  PageReads::Place place;
  if (auto error = EnterReports(context, place)) return context.Fail(*error);
  std::string data;
  context.api().runtime->RunOnIoPool(
      [&] { data = evals::ListJson(context.api().reports->List(), UnixSeconds()); });
  context.Succeed(data);
}

void GetEvalRun(HandlerContext& context) {
  PageReads::Place place;
  if (auto error = EnterReports(context, place)) return context.Fail(*error);
  evals::ReportDirectory& reports = *context.api().reports;
  std::optional<evals::ReportDirectory::Located> located;
  context.api().runtime->RunOnIoPool(
      [&] { located = reports.Locate(context.head().path_parameters.at(0)); });
  std::optional<std::string> data;
  if (located) {
    if (auto error = AwaitReportMemory(context, located->bytes)) return context.Fail(*error);
    context.api().runtime->RunOnIoPool([&] {
      if (const auto found = reports.Read(*located)) data = evals::RunJson(*found);
    });
  }
  if (!data) return context.Fail(Status(StatusCode::kNotFound, "eval run not found"));
  context.Succeed(*data);
}

}  // namespace agent_graph::api

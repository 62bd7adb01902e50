#include "run/loop/node_attempts.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::run {
namespace {

// Returns the delay after attempt number `attempt`, before the next one.
std::chrono::milliseconds DelayBefore(const RetryPolicy& retry, int attempt) {
  const double delay =
      static_cast<double>(retry.delay.count()) * std::pow(retry.factor, attempt - 1);
  const auto longest = static_cast<double>(retry.delay_max.count());
  return std::chrono::milliseconds(static_cast<int64_t>(std::min(delay, longest)));
}

bool MayPass(const Status& failure) {
  switch (failure.code()) {
    case StatusCode::kGraph:
    case StatusCode::kModel:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kUnavailable:
    case StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

bool MayRepeat(const NodeRun& run, const Status& failure, int attempt) {
  const RetryPolicy& retry = run.node.retry;
  const Deadline next = DeadlineAfter(DelayBefore(retry, attempt));
  return MayPass(failure) && attempt < retry.attempts_max && !run.emitter.has_shown_pieces() &&
         !run.environment->cancellation.cancelled() && next < run.environment->deadline;
}

Result<NodeResult> Attempt(const NodeRun& run) {
  const NodeRunner& runner = RunnerOf(run.node);
  if (run.node.timeout.count() == 0) return runner.Run(run);
  auto environment = std::make_shared<RunEnvironment>(*run.environment);
  environment->deadline = run.environment->DeadlineOf(run.node.timeout);
  NodeRun limited = run;
  limited.environment = std::move(environment);
  return runner.Run(limited);
}

}  // namespace

Result<NodeResult> ExecuteNode(const NodeRun& run) {
  const RetryPolicy& retry = run.node.retry;
  for (int attempt = 1;; ++attempt) {
    Result<NodeResult> result = Attempt(run);
    if (result.ok() || !MayRepeat(run, result.status(), attempt)) return result;
    run.environment->Log(LogLevel::kWarning, run.node.name,
                         "attempt " + std::to_string(attempt) + " of " +
                             std::to_string(retry.attempts_max) +
                             " failed: " + result.status().ToString());
    run.log.Add(entry::NodeRetry{
        .node = run.node.name, .attempt = attempt, .reason = result.status().message()});
    AG_RETURN_IF_ERROR(
        runtime::SleepFor(DelayBefore(retry, attempt), &run.environment->cancellation));
  }
}

}  // namespace agent_graph::run

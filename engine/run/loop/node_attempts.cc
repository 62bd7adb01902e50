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

// A graph may set a maximum that the clock cannot reach.
constexpr std::chrono::milliseconds kDelayMax = std::chrono::hours(24 * 365);

// Returns the delay after attempt number `attempt`, before the next one.
std::chrono::milliseconds DelayBefore(const RetryPolicy& retry, int attempt) {
  const double delay =
      static_cast<double>(retry.delay.count()) * std::pow(retry.factor, attempt - 1);
  const auto longest = static_cast<double>(std::min(retry.delay_max, kDelayMax).count());
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

// The functions below are not inlined, so that the stack of a run that waits in its node has no
// room for them.

[[gnu::noinline]] Result<NodeResult> AttemptWithin(std::chrono::milliseconds timeout,
                                                   const NodeRun& run) {
  auto environment = std::make_shared<RunEnvironment>(*run.environment);
  environment->deadline = run.environment->DeadlineOf(timeout);
  NodeRun limited = run;
  limited.environment = std::move(environment);
  return RunnerOf(run.node).Run(limited);
}

[[gnu::noinline]] Status AwaitNextAttempt(const NodeRun& run, const Status& failure, int attempt) {
  const RetryPolicy& retry = run.node.retry;
  run.environment->Log(LogLevel::kWarning, run.node.name,
                       "attempt " + std::to_string(attempt) + " of " +
                           std::to_string(retry.attempts_max) + " failed: " + failure.ToString());
  run.log.Add(
      entry::NodeRetry{.node = run.node.name, .attempt = attempt, .reason = failure.message()});
  return runtime::SleepFor(DelayBefore(retry, attempt), &run.environment->cancellation);
}

[[gnu::noinline]] Result<NodeResult> AttemptRepeatedly(const NodeRun& run) {
  for (int attempt = 1;; ++attempt) {
    Result<NodeResult> result = run.node.timeout.count() == 0
                                    ? RunnerOf(run.node).Run(run)
                                    : AttemptWithin(run.node.timeout, run);
    if (result.ok() || !MayRepeat(run, result.status(), attempt)) return result;
    AG_RETURN_IF_ERROR(AwaitNextAttempt(run, result.status(), attempt));
  }
}

}  // namespace

Result<NodeResult> ExecuteNode(const NodeRun& run) {
  const bool is_plain = run.node.timeout.count() == 0 && run.node.retry.attempts_max <= 1;
  return is_plain ? RunnerOf(run.node).Run(run) : AttemptRepeatedly(run);
}

}  // namespace agent_graph::run

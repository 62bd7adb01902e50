#include "api/resources/run_result.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "api/http/request_memory.h"
#include "api/resources/run_record.h"
#include "api/resources/run_request.h"
#include "api/stream/run_outcome.h"
#include "base/json.h"
#include "base/json_array.h"
#include "run/context/agent_state.h"
#include "run/context/execution_meta.h"
#include "run/entry_events.h"
#include "run/log/log_entry.h"
#include "runtime/runtime.h"
#include "state/service.h"

namespace agent_graph::api {
namespace {

// Behind every possible entry, so that such a read waits only for the end of the run.
constexpr uint64_t kNoEntry = uint64_t{1} << 62;
constexpr std::chrono::milliseconds kRetryAfter{500};
// Limit on the pages of one run's log.
constexpr size_t kLogPagesMax = 10'000;

// The parts of a run's log that its result needs.
struct LoggedEnd {
  std::optional<Status> error;
  std::vector<std::string> message_ids;  // the messages that the run added, in order
  bool is_cut = false;                   // a part of the log is no longer kept
};

void Take(const state::IndexedEntry& indexed, LoggedEnd& end) {
  const std::optional<run::EntryBody> body = run::Decode(indexed.entry);
  if (!body) return;
  if (const auto* added = std::get_if<run::entry::MessageAdded>(&*body)) {
    end.message_ids.push_back(added->message_id);
    return;
  }
  const auto no_message = [](const std::string&) -> Result<std::string> { return NotFound(""); };
  const Result<std::optional<run::RunEvent>> event = run::EventOf(*body, 0, no_message);
  if (event.ok() && *event && (*event)->kind == run::RunEvent::Kind::kError) {
    end.error = (*event)->error;
  }
}

Result<LoggedEnd> ReadEnd(HandlerContext& context, const state::RunRecord& run) {
  LoggedEnd end;
  state::FollowRunRequest read{context.caller().scope, run.thread_id, run.run_id};
  read.first = run.log_begin;
  for (size_t page = 0; page < kLogPagesMax; ++page) {
    AG_ASSIGN_OR_RETURN(const state::FollowRunReply reply,
                        context.state().FollowRun(read, &context.exchange().cancellation()));
    end.is_cut = end.is_cut || reply.kept_from > run.log_begin;
    for (const state::IndexedEntry& indexed : reply.entries) Take(indexed, end);
    if (reply.complete || reply.entries.empty()) break;
    read.first = reply.entries.back().index + 1;
  }
  return end;
}

// Removes messages that came after the run, if the thread has changed since. If the window has none
// of the run's messages any more, it becomes these messages.
std::optional<ErrorInfo> KeepMessagesOf(HandlerContext& context, const state::RunRecord& run,
                                        const LoggedEnd& end,
                                        std::vector<state::StoredMessage>& window) {
  const std::unordered_set<std::string> ids(end.message_ids.begin(), end.message_ids.end());
  const auto last = std::find_if(window.rbegin(), window.rend(),
                                 [&](const auto& message) { return ids.contains(message.id); });
  if (last != window.rend()) {
    window.erase(last.base(), window.end());
    return std::nullopt;
  }
  if (end.is_cut) return ErrorInfo{ApiError::kGone, "the result of the run is no longer kept", {}};
  window.clear();
  for (const std::string& id : end.message_ids) {
    Result<state::StoredMessage> message =
        context.state().GetMessage(context.caller().scope, run.thread_id, id);
    if (message.ok()) {
      window.push_back(*std::move(message));
    } else if (message.status().code() != StatusCode::kNotFound) {  // otherwise it was deleted
      return context.Explain(message.status());
    }
  }
  return std::nullopt;
}

// `meta` of an invoke response: the thread's id and name, whether it is new, the run's id and
// outcome, and "interrupt" if the run was interrupted.
void AppendRunMeta(std::string& out, const run::RunOutcome& outcome) {
  const run::RunStart& start = outcome.start;
  out += "{\"is_new_thread\":";
  out += start.is_new_thread ? "true" : "false";
  out += ",\"thread_id\":";
  AppendJsonString(out, start.thread_id);
  out += ",\"thread_name\":";
  if (start.thread_name.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, start.thread_name);
  }
  out += ",\"run_id\":";
  AppendJsonString(out, start.run_id);
  out += ",\"outcome\":\"";
  out += run::RunStatusName(outcome.status);
  out += '"';
  if (!outcome.interrupt_json.empty()) {
    out += ",\"interrupt\":";
    out += outcome.interrupt_json;
  }
  out += '}';
}

}  // namespace

std::string InvokeData(run::RunOutcome outcome, Granularity granularity) {
  const bool shows_state = granularity != Granularity::kLow;
  const size_t copies = shows_state ? 2 : 1;
  std::string out;
  out.reserve(512 + outcome.interrupt_json.size() + outcome.state_json.size() +
              copies * outcome.messages_json.size());
  out += "{\"messages\":";
  out += outcome.messages_json;
  out += ",\"state\":";
  out += shows_state ? std::string_view(outcome.state_json) : "null";
  out += ",\"context\":";
  out += shows_state ? std::string_view(outcome.messages_json) : "null";
  out += ",\"summary\":";
  if (granularity == Granularity::kFull && outcome.summary) {
    AppendJsonString(out, *outcome.summary);
  } else {
    out += "null";
  }
  out += ",\"meta\":";
  AppendRunMeta(out, outcome);
  out += '}';
  return out;
}

Status AwaitRunEnd(HandlerContext& context, state::RunRecord& run, Deadline deadline) {
  const runtime::Cancellation& cancellation = context.exchange().cancellation();
  state::FollowRunRequest wait{context.caller().scope, run.thread_id, run.run_id};
  wait.first = kNoEntry;
  wait.entries_max = 1;
  while (!state::HasEnded(run.state)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::min(deadline, DeadlineAfter(std::chrono::milliseconds(state::kFollowWaitMsMax))) -
        MonotonicClock::now());
    if (left.count() <= 0) return Status(StatusCode::kDeadlineExceeded, "the run goes on");
    wait.wait_ms = std::min<int64_t>(left.count(), state::kFollowWaitMsMax);
    Result<state::FollowRunReply> reply = context.state().FollowRun(wait, &cancellation);
    if (reply.ok()) {
      run = std::move(reply->run);
      continue;
    }
    const StatusCode code = reply.status().code();
    if (code != StatusCode::kUnavailable && code != StatusCode::kResourceExhausted) {
      return reply.status();
    }
    const Deadline retry = std::min(deadline, DeadlineAfter(kRetryAfter));
    AG_RETURN_IF_ERROR(runtime::SleepUntil(retry, &cancellation));
    if (MonotonicClock::now() >= deadline) return reply.status();
  }
  return Status::Ok();
}

void AnswerRunResult(HandlerContext& context, const state::RunRecord& run,
                     Granularity granularity) {
  Result<state::ThreadState> state =
      ReadThreadState(context.exchange(), context.state(), context.caller().scope, run.thread_id);
  if (!state.ok()) return context.Fail(state.status());
  const bool has_moved_on = state->record.last_run_id != run.run_id;
  // Clients can change a thread without a run, too.
  const bool is_changed = has_moved_on || state->record.updated_micros > run.finished_micros;
  const bool failed = run.state == state::RunState::kError;
  if (failed || is_changed) {
    const Result<LoggedEnd> end = ReadEnd(context, run);
    if (!end.ok()) return context.Fail(end.status());
    if (end->is_cut) {
      return context.Fail(
          ErrorInfo{ApiError::kGone, "the result of the run is no longer kept", {}});
    }
    if (failed) {
      const Status unknown(StatusCode::kInternal, "the run failed: " + run.reason);
      return context.Fail(end->error.value_or(FailureOfStart(run).value_or(unknown)));
    }
    if (auto error = KeepMessagesOf(context, run, *end, state->window)) return context.Fail(*error);
  }
  run::RunOutcome outcome;
  outcome.start.thread_id = run.thread_id;
  outcome.start.run_id = run.run_id;
  outcome.start.is_new_thread = state->record.created_micros >= run.created_micros;
  outcome.start.thread_name = state->record.name;
  outcome.status = OutcomeOfRun(run.state);
  if (run.state == state::RunState::kInterrupted && !has_moved_on) {
    const auto meta = run::ExecutionMeta::FromJson(state->snapshot.execution_json);
    if (meta.interrupted()) outcome.interrupt_json = run::InterruptJson(meta);
  }
  if (granularity != Granularity::kLow) outcome.state_json = run::AgentStateJson(*state);
  AppendJsonArray(
      outcome.messages_json, state->window,
      [](std::string& out, const state::StoredMessage& message) { out += message.json; });
  outcome.summary = std::move(state->snapshot.summary);
  context.Succeed(200, InvokeData(std::move(outcome), granularity),
                  {{"Location", RunStreamPath(context, run.thread_id, run.run_id)}});
}

}  // namespace agent_graph::api

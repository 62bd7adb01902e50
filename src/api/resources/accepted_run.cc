#include "api/resources/accepted_run.h"

#include <utility>

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "api/resources/idempotency.h"
#include "api/resources/inline_files.h"
#include "api/resources/request_shapes.h"
#include "base/clock.h"
#include "base/free_memory.h"
#include "base/ids.h"
#include "graph/compiled_graph.h"
#include "run/context/client_results.h"
#include "run/context/execution_meta.h"
#include "run/context/initial_state.h"
#include "run/context/open_inputs.h"
#include "run/host/stored_request.h"
#include "state/key_owner.h"
#include "state/service.h"

namespace agent_graph::api {
namespace {

constexpr int kThreadIdAttemptsMax = 8;

ErrorInfo NoCheckpointer() {
  return {ApiError::kNotConfigured, "checkpointer not configured", {}};
}

state::BeginRunRequest BeginOf(const HandlerContext& context, const run::RunRequest& request) {
  const settings::Settings& settings = *context.api().settings;
  state::BeginRunRequest begin;
  begin.scope = request.scope;
  begin.thread_id = request.thread_id;
  begin.user_id = request.user_id;
  begin.creation_id = NewHexId();
  begin.run_id = request.run_id;
  begin.graph_name = context.api().graph->name();
  begin.graph_hash = context.api().graph->hash();
  begin.window_max = settings.window_max;
  run::SetBusyPolicy(request, settings.busy_thread.enqueue, begin);
  begin.queue_max = settings.busy_thread.queue_max;
  begin.run_ms_max = request.cancelled_after.count();
  return begin;
}

// Checks tool results as the start of a run does, as far as the thread is known now: while another
// run is in flight, only the start can decide.
Status CheckResults(HandlerContext& context, const run::RunRequest& request) {
  if (!run::BringResults(request.messages)) return Status::Ok();
  state::ThreadState thread;
  if (!request.thread_id.empty()) {
    Result<state::ThreadState> found =
        ReadThreadState(context.exchange(), *context.api().state, request.scope, request.thread_id);
    if (!found.ok() && found.status().code() != StatusCode::kNotFound) return found.status();
    if (found.ok()) thread = *std::move(found);
  }
  if (thread.in_flight || run::IsRepeated(thread, request.messages)) return Status::Ok();
  std::vector<Message> messages = request.messages;
  const run::ExecutionMeta meta = run::ExecutionMeta::FromJson(thread.snapshot.execution_json);
  run::OpenInputs inputs = run::OpenInputs::FromJson(meta.inputs_json);
  Status matched = run::MatchResults(thread.window, messages, inputs);
  if (matched.ok() || !request.thread_id.empty()) return matched;
  return Status(
      matched.code(),
      "config.thread_id: must name the thread that waits for the result; " + matched.message());
}

Status Check(HandlerContext& context, const run::RunRequest& request, bool has_key) {
  if (context.api().graph->live_root() != nullptr) {
    return InvalidArgument("the graph is live: use /v1/graph/live");
  }
  if (run::HasSecrets(request)) {
    return InvalidArgument(
        "config.secrets: is never stored, so a run that goes on without its client cannot have it");
  }
  AG_RETURN_IF_ERROR(run::ReadInitialState(request.initial_state).status());
  // A request with a key may repeat one whose results no thread waits for any more.
  if (has_key && request.thread_id.empty()) return Status::Ok();
  return CheckResults(context, request);
}

// Tries again with a new id: a generated id may already be used.
Result<state::AcceptRunReply> Accept(const HandlerContext& context, state::AcceptRunRequest accept,
                                     bool is_new_thread) {
  if (!is_new_thread) return context.api().state->AcceptRun(accept);
  accept.begin.new_thread_only = true;
  Status taken;
  for (int attempt = 0; attempt < kThreadIdAttemptsMax; ++attempt) {
    accept.begin.thread_id = context.api().ids->Next();
    Result<state::AcceptRunReply> reply = context.api().state->AcceptRun(accept);
    if (reply.ok() || reply.status().code() != StatusCode::kConflict) return reply;
    taken = reply.status();
  }
  return taken;
}

std::optional<ErrorInfo> StoreFiles(HandlerContext& context, run::RunRequest& request) {
  if (auto error = StoreLargeInlineFiles(context, request.messages)) return error;
  return StoreLargeInlineFiles(context, request.initial_context);
}

Result<state::AcceptRunReply> Accept(HandlerContext& context, run::RunRequest request,
                                     const RunTerms& terms) {
  if (request.run_id.empty()) request.run_id = NewUuid();
  state::AcceptRunRequest accept;
  AG_ASSIGN_OR_RETURN(
      accept.request,
      run::StoreRequest(request, context.api().settings->authentication.persist_claims,
                        *context.api().ids));
  accept.begin = BeginOf(context, request);
  const int64_t now = UnixMicros();
  const std::chrono::microseconds limit = request.cancelled_after;
  if (limit.count() > 0) accept.deadline_micros = now + limit.count();
  const settings::RecoverySettings& recovery = context.api().settings->recovery;
  if (recovery.enabled && !terms.cancelled_on_leave) {
    accept.continued_until_micros = now + recovery.age_seconds_max * kMicrosPerSecond;
  }
  accept.key = terms.key;
  const bool is_new_thread = request.thread_id.empty();
  FreeMemory(request);
  return Accept(context, std::move(accept), is_new_thread);
}

ErrorInfo RunDeleted() {
  return {ApiError::kGone, "the thread of the run that this Idempotency-Key began was deleted", {}};
}

std::optional<ErrorInfo> FindKnownRun(HandlerContext& context, const state::KeyRecord& known,
                                      AcceptedRun& accepted) {
  Result<state::RunRecord> run =
      context.state().GetRun({context.caller().scope, known.thread_id, known.run_id});
  if (run.status().code() == StatusCode::kNotFound) return RunDeleted();
  if (!run.ok()) return context.Explain(run.status());
  // A new thread may have got the id of the deleted one, and its run that of the earlier run.
  if (known.thread_number != 0 && run->thread_number != known.thread_number) return RunDeleted();
  accepted.run = *std::move(run);
  accepted.repeated = true;
  return std::nullopt;
}

std::optional<ErrorInfo> BeginAccepted(HandlerContext& context, run::RunRequest request,
                                       const RunTerms& terms, AcceptedRun& accepted) {
  using Outcome = state::AcceptRunReply::Outcome;
  if (Status status = Check(context, request, terms.key.has_value()); !status.ok()) {
    return context.Explain(status);
  }
  if (auto error = StoreFiles(context, request)) return error;
  Result<state::AcceptRunReply> reply = Accept(context, std::move(request), terms);
  if (!reply.ok()) return context.Explain(reply.status());
  switch (reply->outcome) {
    case Outcome::kAccepted:
    case Outcome::kRepeated:
      break;
    case Outcome::kOtherBody:
      return ErrorInfo{ApiError::kIdempotencyMismatch, "", {}};
    case Outcome::kRunDeleted:
      return RunDeleted();
  }
  accepted.run = std::move(reply->run);
  accepted.repeated = reply->outcome == Outcome::kRepeated;
  return std::nullopt;
}

}  // namespace

RunTerms ReadRunTerms(const HandlerContext& context, Problems& problems) {
  RunTerms terms;
  terms.key = ReadRunKey(context, problems);
  const json* config = FindMember(context.body(), "config");
  const json* chosen = config != nullptr ? FindMember(*config, kOnDisconnect.name) : nullptr;
  const bool continues =
      chosen != nullptr ? ChoiceOf(*config, kOnDisconnect) == 1 : terms.key.has_value();
  terms.accepted = continues || terms.key.has_value();
  terms.cancelled_on_leave = terms.accepted && !continues;
  return terms;
}

std::optional<ErrorInfo> FindRunOfKey(HandlerContext& context, RunTerms& terms) {
  if (!terms.key || context.api().state == nullptr) return std::nullopt;
  state::BeginRunRequest begin;
  begin.scope = context.caller().scope;
  begin.user_id = context.caller().user_id;
  Result<state::KeyRecord> found =
      context.state().FindKey({state::KeyOwner(begin), terms.key->route, terms.key->key});
  if (found.status().code() == StatusCode::kNotFound) return std::nullopt;
  if (!found.ok()) return context.Explain(found.status());
  if (found->body_hash != terms.key->body_hash) {
    return ErrorInfo{ApiError::kIdempotencyMismatch, "", {}};
  }
  terms.known = *std::move(found);
  return std::nullopt;
}

std::optional<ErrorInfo> AcceptGraphRun(HandlerContext& context, GraphRequest request,
                                        const RunTerms& terms, AcceptedRun& accepted) {
  if (context.api().state == nullptr) return NoCheckpointer();
  context.SetBody(json::object(), 0);
  std::optional<ErrorInfo> error =
      terms.known ? FindKnownRun(context, *terms.known, accepted)
                  : BeginAccepted(context, std::move(request.run), terms, accepted);
  context.exchange().Hold(0);
  if (error) return error;
  context.exchange().Annotate(accepted.run.thread_id, accepted.run.run_id);
  return std::nullopt;
}

void LeaveRun(HandlerContext& context, const RunTerms& terms, const AcceptedRun& accepted,
              runtime::CancelReason reason) {
  if (!terms.cancelled_on_leave || accepted.repeated) return;
  if (reason != runtime::CancelReason::kClientGone) return;
  const Result<state::StopReply> stopped = context.state().RequestStop(
      {context.caller().scope, accepted.run.thread_id, true, accepted.run.run_id});
  if (!stopped.ok()) context.Log(bridge::LogLevel::kWarn, stopped.status().ToString());
}

}  // namespace agent_graph::api

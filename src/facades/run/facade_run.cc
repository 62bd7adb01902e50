#include "facades/run/facade_run.h"

#include <utility>

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "api/resources/idempotency.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "facades/run/keep_alive.h"
#include "run/context/client_results.h"
#include "run/context/open_inputs.h"
#include "run/run_sink.h"

namespace agent_graph::facades {
namespace {

using api::HandlerContext;

// Passes the events of a run that this request executes.
class DirectSink : public run::RunSink {
 public:
  DirectSink(HandlerContext& context, const FacadeRun& run, api::RunReader& reader)
      : context_(context),
        reader_(reader),
        has_thread_(!run.request.run.transient),
        note_json_(run.request.run.note_json),
        wants_deltas_(run.wants_deltas),
        wants_states_(run.wants_states),
        kept_bytes_(run.kept_bytes) {}

  Status OnStart(const run::RunStart& start) override {
    context_.exchange().Annotate(has_thread_ ? start.thread_id : std::string(), start.run_id);
    run::RunStart shown = start;
    if (!has_thread_) shown.thread_id.clear();
    AG_RETURN_IF_ERROR(reader_.OnStart(shown, nullptr));
    if (!note_json_.empty()) {
      AG_RETURN_IF_ERROR(reader_.OnNote(note_json_, {"", UnixMicros()}));
    }
    keep_alive_.emplace(kKeepAliveInterval, [this] { (void)reader_.OnIdle(); });
    return Status::Ok();
  }
  Status OnDelta(const run::RunDelta& delta) override {
    const KeepAlive::Turn turn(keep_alive_);
    const bool is_first = message_id_ != delta.message_id;
    if (is_first) message_id_ = delta.message_id;
    return reader_.OnDelta(delta, {"", UnixMicros()}, is_first);
  }
  Status OnEvent(const run::RunEvent& event) override {
    using Kind = run::RunEvent::Kind;
    const KeepAlive::Turn turn(keep_alive_);
    const api::EventPlace place{"", UnixMicros()};
    switch (event.kind) {
      case Kind::kMessage:
        return reader_.OnMessage({event.message_json, event.node, event.step}, place);
      case Kind::kUpdate:
        if (wants_states_) AG_RETURN_IF_ERROR(reader_.OnState(event.state_json, place));
        return reader_.OnNodeFinished(event.node, event.step, place);
      case Kind::kError:
        return reader_.OnError({event.error, event.node, event.step}, place);
      case Kind::kMessageDelta:
      case Kind::kState:
        return Status::Ok();
    }
    return Status::Ok();
  }
  void OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    context_.exchange().Hold(kept_bytes_ + api::RunMemory(thread_bytes, reply_bytes));
  }
  Status AwaitHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    return api::AwaitRunGrowth(context_.exchange(), thread_bytes,
                               reply_bytes + kept_bytes_ / api::kReplyCopies);
  }
  Status AwaitMemory(uint64_t thread_bytes) override {
    return api::AwaitRunMemory(context_.exchange(), thread_bytes);
  }
  // The reader's last call comes from elsewhere.
  void StopBeats() { keep_alive_.reset(); }
  bool wants_deltas() const override { return wants_deltas_; }
  bool wants_states() const override { return wants_states_; }
  bool wants_final_state() const override { return wants_states_; }

 private:
  HandlerContext& context_;
  api::RunReader& reader_;
  const bool has_thread_;
  const std::string note_json_;
  const bool wants_deltas_;
  const bool wants_states_;
  const uint64_t kept_bytes_;
  std::string message_id_;  // the message of the last delta
  // From the start of the run on, so that a beat has a response to be in.
  std::optional<KeepAlive> keep_alive_;
};

[[gnu::noinline]] std::optional<api::ErrorInfo> EndRun(HandlerContext& context,
                                                       const Result<run::RunOutcome>& outcome,
                                                       api::RunReader& reader) {
  if (!outcome.ok()) return context.Explain(outcome.status());
  if (outcome->status == run::RunStatus::kError) (void)context.Explain(outcome->error);  // logs it
  const api::RunEnd end{.outcome = outcome->status,
                        .interrupt_json = outcome->interrupt_json,
                        .state_json = outcome->state_json,
                        .thread_name = outcome->start.thread_name};
  const Status ended = reader.OnEnd(end, {"", UnixMicros()});
  return ended.ok() ? std::nullopt : std::optional(context.Explain(ended));
}

// Not inlined, like EndRun and FollowAccepted, so that their variables are not on the stack while a
// run executes.
[[gnu::noinline]] std::optional<api::ErrorInfo> ExecuteRun(HandlerContext& context, FacadeRun& run,
                                                           api::RunReader& reader) {
  DirectSink sink(context, run, reader);
  const Result<run::RunOutcome> outcome =
      api::RunGraph(context, std::move(run.request.run), context.exchange().cancellation(), sink);
  sink.StopBeats();
  return EndRun(context, outcome, reader);
}

// `place` is that of this request.
std::optional<api::ErrorInfo> Follow(HandlerContext& context, const api::RunName& run,
                                     const api::FollowerOptions& options, api::RunReader& reader,
                                     const api::FollowerLimit::Place&) {
  api::RunFollower follower =
      api::MakeFollower(context, run, options, context.exchange().cancellation());
  const Result<api::RunFollower::Place> found = follower.Open(std::nullopt);
  if (!found.ok()) return context.Explain(found.status());
  if (auto error = api::ErrorOfPlace(context, run.thread_id, *found)) return error;
  const Status followed = follower.Follow(reader);
  if (followed.ok()) return std::nullopt;
  // The run goes on when this worker leaves, and any other worker can answer.
  if (followed.code() == StatusCode::kCancelled) {
    return api::ErrorInfo{api::ApiError::kShuttingDown, "", {}};
  }
  return context.Explain(followed);
}

// The run does not need this connection: the response follows it.
[[gnu::noinline]] std::optional<api::ErrorInfo> FollowAccepted(HandlerContext& context,
                                                               FacadeRun& run,
                                                               api::RunReader& reader) {
  const api::FollowerLimit::Place place = api::EnterFollowers(context, run.request.run.thread_id);
  if (!place) return api::TooManyFollowers();
  const bool logs_pieces = run.request.run.log_pieces;
  api::AcceptedRun accepted;
  if (auto error = api::AcceptGraphRun(context, std::move(run.request), run.terms, accepted)) {
    return error;
  }
  api::FollowerOptions options;
  options.with_state = run.wants_states;
  options.pieces_of_log = logs_pieces;
  std::optional<api::ErrorInfo> error =
      Follow(context, {accepted.run.thread_id, accepted.run.run_id}, options, reader, place);
  api::LeaveRun(context, run.terms, accepted, context.exchange().cancellation().reason());
  return error;
}

}  // namespace

api::RunTerms ReadTerms(const HandlerContext& context, const std::string& thread_id,
                        api::Problems& problems) {
  api::RunTerms terms;
  terms.key = api::ReadRunKey(context, problems);
  terms.accepted = terms.key.has_value();
  if (terms.key) terms.key->body_hash = Sha256Hex(terms.key->body_hash + thread_id);
  return terms;
}

std::optional<api::ErrorInfo> CheckThread(HandlerContext& context, const std::string& thread_id) {
  if (thread_id.empty()) return std::nullopt;
  if (context.api().state == nullptr) {
    return api::ErrorInfo{api::ApiError::kNotConfigured, "checkpointer not configured", {}};
  }
  return context.CheckThread(context.route(), thread_id);
}

std::optional<api::ErrorInfo> CheckResults(run::RunRequest& run, const std::string& member) {
  if (!run.thread_id.empty() || !run::BringResults(run.messages)) return std::nullopt;
  run::OpenInputs none;
  const Status matched = run::MatchResults({}, run.messages, none);
  if (matched.ok()) return std::nullopt;
  api::Problems problems;
  problems.Add({"body", member}, matched.message(), api::ProblemType::kValue);
  return std::move(problems).Error();
}

std::optional<api::ErrorInfo> FindKeyOrFiles(HandlerContext& context, FacadeRun& run) {
  if (auto error = api::FindRunOfKey(context, run.terms)) return error;
  return run.terms.known ? std::nullopt : api::ResolveFiles(context, run.request);
}

std::optional<api::ErrorInfo> PerformRun(HandlerContext& context, FacadeRun&& run,
                                         api::RunReader& reader) {
  return run.terms.accepted ? FollowAccepted(context, run, reader)
                            : ExecuteRun(context, run, reader);
}

std::optional<api::ErrorInfo> ReadRun(HandlerContext& context, const api::RunName& run,
                                      const api::FollowerOptions& options, api::RunReader& reader) {
  const api::FollowerLimit::Place place = api::EnterFollowers(context, run.thread_id);
  if (!place) return api::TooManyFollowers();
  return Follow(context, run, options, reader, place);
}

}  // namespace agent_graph::facades

// POST /v1/graph/invoke: runs the graph to its end and returns one response.

#include <memory>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "api/resources/accepted_run.h"
#include "api/resources/handlers.h"
#include "api/resources/requested_run.h"
#include "api/resources/run_record.h"
#include "api/resources/run_request.h"
#include "api/resources/run_result.h"
#include "api/resources/run_streaming.h"

namespace agent_graph::api {
namespace {

class InvokeSink : public run::RunSink {
 public:
  InvokeSink(bridge::Exchange& exchange, Granularity granularity)
      : exchange_(exchange), granularity_(granularity) {}

  Status OnStart(const run::RunStart& start) override {
    exchange_.Annotate(start.thread_id, start.run_id);
    return Status::Ok();
  }
  Status OnEvent(const run::RunEvent&) override { return Status::Ok(); }
  void OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    exchange_.Hold(RunMemory(thread_bytes, reply_bytes));
  }
  Status AwaitHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    return AwaitRunGrowth(exchange_, thread_bytes, reply_bytes);
  }
  Status AwaitMemory(uint64_t thread_bytes) override {
    return AwaitRunMemory(exchange_, thread_bytes);
  }
  bool wants_deltas() const override { return false; }
  bool wants_states() const override { return false; }
  bool wants_messages() const override { return false; }
  bool wants_final_state() const override { return granularity_ != Granularity::kLow; }

 private:
  bridge::Exchange& exchange_;
  const Granularity granularity_;
};

// The run does not need this connection: the response waits for it. Not inlined, so that the stack
// of other runs has no room for it.
[[gnu::noinline]] void InvokeAccepted(HandlerContext& context, RequestedRun& run) {
  const FollowerLimit::Place place = EnterFollowers(context, run.request.run.thread_id);
  if (!place) return context.Fail(TooManyFollowers());
  const Granularity granularity = run.request.granularity;
  const RunTerms& terms = run.terms;
  AcceptedRun accepted;
  if (auto error = AcceptGraphRun(context, std::move(run.request), terms, accepted)) {
    return context.Fail(*error);
  }
  const Status ended = AwaitRunEnd(context, accepted.run, kNoDeadline);
  if (ended.ok()) return AnswerRunResult(context, accepted.run, granularity);
  LeaveRun(context, terms, accepted, context.exchange().cancellation().reason());
  context.Fail(ended);
}

[[gnu::noinline]] void AnswerInvoke(HandlerContext& context, Result<run::RunOutcome> outcome,
                                    Granularity granularity) {
  if (!outcome.ok()) return context.Fail(outcome.status());
  if (outcome->status == run::RunStatus::kError) return context.Fail(outcome->error);
  if (context.api().state == nullptr) {
    return context.Succeed(InvokeData(*std::move(outcome), granularity));
  }
  const std::string stream =
      RunStreamPath(context, outcome->start.thread_id, outcome->start.run_id);
  context.Succeed(200, InvokeData(*std::move(outcome), granularity), {{"Location", stream}});
}

}  // namespace

void InvokeGraph(HandlerContext& context) {
  const std::unique_ptr<RequestedRun> run = ReadRequestedRun(context);
  if (run == nullptr) return;
  if (run->terms.accepted) return InvokeAccepted(context, *run);
  InvokeSink sink(context.exchange(), run->request.granularity);
  AnswerInvoke(
      context,
      RunGraph(context, std::move(run->request.run), context.exchange().cancellation(), sink),
      run->request.granularity);
}

}  // namespace agent_graph::api

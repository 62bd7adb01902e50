// POST /v1/graph/stream: streams the events of a run, one JSON object per line.

#include <memory>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/query.h"
#include "api/http/request_memory.h"
#include "api/resources/accepted_run.h"
#include "api/resources/handlers.h"
#include "api/resources/requested_run.h"
#include "api/resources/run_record.h"
#include "api/resources/run_request.h"
#include "api/resources/run_shapes.h"
#include "api/resources/run_streaming.h"
#include "api/stream/sink.h"

namespace agent_graph::api {
namespace {

// The form of the response, from the query and the headers.
struct StreamForm {
  Framing framing = Framing::kNdjson;
  std::string_view content_type;
  bool delta_cursors = false;
};

[[gnu::noinline]] StreamForm ReadForm(const HandlerContext& context, Problems& problems) {
  const Query query(context.head().query);
  StreamForm form;
  form.framing = static_cast<Framing>(ReadChoice(query, kFraming, problems));
  form.delta_cursors = ReadChoice(query, kCursors, problems) == 1;
  // Existing clients expect NDJSON with the type text/event-stream. A client that asks for the
  // NDJSON type gets it.
  const bool named_so =
      form.framing == Framing::kNdjson && AcceptsNdjson(context.head().Header("accept"));
  form.content_type = ContentTypeOf(named_so ? Framing::kNdjson : Framing::kSse);
  return form;
}

class HttpStream : public StreamSink {
 public:
  HttpStream(HandlerContext& context, Granularity granularity, const StreamForm& form)
      : StreamSink(granularity), context_(context), form_(form) {}

 private:
  void Begin(const run::RunStart& start) override {
    context_.exchange().Annotate(start.thread_id, start.run_id);
    bridge::HeaderList headers = StreamHeaders(form_.content_type);
    if (context_.api().state != nullptr) {
      headers.emplace_back("Location", RunStreamPath(context_, start.thread_id, start.run_id));
    }
    context_.exchange().SendHead(context_.MakeHead(200, std::move(headers)));
  }
  Status Send(std::string_view line) override {
    if (form_.framing == Framing::kNdjson) {
      return context_.exchange().Send(line, bridge::kSendWaitMax);
    }
    return context_.exchange().Send(Frame(form_.framing, {EventIn(line), "", line}),
                                    bridge::kSendWaitMax);
  }
  void SendLast(std::string_view line) override {
    context_.exchange().SendLast(Frame(form_.framing, {EventIn(line), "", line}));
  }
  void OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    context_.exchange().Hold(RunMemory(thread_bytes, reply_bytes));
  }
  Status AwaitHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    return AwaitRunGrowth(context_.exchange(), thread_bytes, reply_bytes);
  }
  Status AwaitMemory(uint64_t thread_bytes) override {
    return AwaitRunMemory(context_.exchange(), thread_bytes);
  }

  HandlerContext& context_;
  const StreamForm form_;
};

// The run does not need this connection: the response reads the run's log. Not inlined, because its
// frame would enlarge the stacks of all other runs.
[[gnu::noinline]] void StreamAccepted(HandlerContext& context, RequestedRun& run,
                                      const StreamForm& form) {
  const FollowerLimit::Place place = EnterFollowers(context, run.request.run.thread_id);
  if (!place) return context.Fail(TooManyFollowers());
  RunStreamRequest stream;
  stream.granularity = run.request.granularity;
  stream.delta_cursors = form.delta_cursors;
  stream.framing = form.framing;
  stream.content_type = form.content_type;
  AcceptedRun accepted;
  if (auto error = AcceptGraphRun(context, std::move(run.request), run.terms, accepted)) {
    return context.Fail(*error);
  }
  stream.run.thread_id = accepted.run.thread_id;
  stream.run.run_id = accepted.run.run_id;
  StreamRun(context, stream, place);
  LeaveRun(context, run.terms, accepted, context.exchange().cancellation().reason());
}

[[gnu::noinline]] void EndStream(HandlerContext& context, const Result<run::RunOutcome>& outcome,
                                 HttpStream& sink) {
  bridge::Exchange& exchange = context.exchange();
  if (outcome.ok()) {
    sink.Finish(*outcome);
    return exchange.End(StreamOutcome(*outcome, exchange.cancellation().reason()));
  }
  if (!sink.started()) return context.Fail(outcome.status());
  sink.FinishFailed();
  exchange.End(OutcomeOf(ErrorOf(outcome.status()), exchange.cancellation().reason()));
}

}  // namespace

void StreamGraph(HandlerContext& context) {
  Problems problems;
  const StreamForm form = ReadForm(context, problems);
  const std::unique_ptr<RequestedRun> run = ReadRequestedRun(context, std::move(problems));
  if (run == nullptr) return;
  if (run->terms.accepted) return StreamAccepted(context, *run, form);
  HttpStream sink(context, run->request.granularity, form);
  EndStream(context,
            RunGraph(context, std::move(run->request.run), context.exchange().cancellation(), sink),
            sink);
}

}  // namespace agent_graph::api

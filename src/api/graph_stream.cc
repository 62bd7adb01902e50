// POST /v1/graph/stream: a run as it happens, one JSON object a line.
#include <algorithm>
#include <chrono>
#include <optional>

#include "api/handlers.h"
#include "api/run_request.h"
#include "api/stream_chunk.h"
#include "base/clock.h"

namespace agent_graph::api {
namespace {

// nginx ends a connection whose client stopped reading; this bounds a wait that it does not see.
constexpr std::chrono::minutes kSendWaitMax{10};

constexpr std::string_view kNdjson = "application/x-ndjson";

// NDJSON under text/event-stream is what clients of this interface expect; one that asks for the
// true name gets it.
std::string_view ContentType(std::string_view accept) {
  std::string lower(accept);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower.find(kNdjson) != std::string::npos ? kNdjson : "text/event-stream";
}

bridge::HeaderList StreamHeaders(std::string_view accept) {
  bridge::HeaderList headers;
  headers.emplace_back("Content-Type", ContentType(accept));
  headers.emplace_back("Cache-Control", "no-cache, no-transform");
  headers.emplace_back("Connection", "keep-alive");  // on HTTP/1.1; the reply writer sees to it
  headers.emplace_back("X-Accel-Buffering", "no");
  headers.emplace_back("Content-Encoding", "identity");
  return headers;
}

class StreamSink : public run::RunSink {
 public:
  StreamSink(HandlerContext& context, Granularity granularity)
      : context_(context), granularity_(granularity) {}

  Status OnStart(const run::RunStart& start) override {
    writer_.emplace(start);
    context_.exchange().Annotate(start.thread_id, start.run_id);
    context_.exchange().SendHead(
        context_.MakeHead(200, StreamHeaders(context_.head().Header("accept"))));
    return Status::Ok();
  }

  Status OnEvent(const run::RunEvent& event) override {
    if (!Shows(event.kind)) return Status::Ok();
    if (event.kind == run::RunEvent::Kind::kError) {
      context_.exchange().SendLast(writer_->Line(event, UnixSeconds()));
      return Status::Ok();
    }
    return Send(writer_->Line(event, UnixSeconds()));
  }

  bool wants_deltas() const override { return true; }
  bool wants_states() const override { return granularity_ != Granularity::kLow; }

  bool started() const { return writer_.has_value(); }

  // Ends the stream of a run that started, whatever became of it.
  void Finish(const run::RunOutcome& outcome) {
    std::string_view state = outcome.state_json;
    if (granularity_ == Granularity::kLow) state = {};
    context_.exchange().SendLast(writer_->DoneLine(state, UnixSeconds()));
  }

 private:
  bool Shows(run::RunEvent::Kind kind) const {
    switch (kind) {
      case run::RunEvent::Kind::kMessageDelta:
      case run::RunEvent::Kind::kMessage:
      case run::RunEvent::Kind::kError:
        return true;
      case run::RunEvent::Kind::kUpdate:
        return granularity_ != Granularity::kLow;
      case run::RunEvent::Kind::kState:
        return granularity_ == Granularity::kFull;
    }
    return false;
  }

  Status Send(std::string line) {
    return context_.exchange().Send(std::move(line), DeadlineAfter(kSendWaitMax));
  }

  HandlerContext& context_;
  const Granularity granularity_;
  std::optional<StreamChunkWriter> writer_;
};

std::string StreamOutcome(const run::RunOutcome& outcome, runtime::CancelReason reason) {
  if (outcome.status == "error") return OutcomeOf(ErrorOf(outcome.error), reason);
  return "ok";
}

}  // namespace

void StreamGraph(HandlerContext& context) {
  Problems problems;
  GraphRequest request = ReadGraphRequest(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  StreamSink sink(context, request.granularity);
  bridge::Exchange& exchange = context.exchange();
  Result<run::RunOutcome> outcome =
      context.api().runner->Execute(request.run, exchange.cancellation(), sink);
  if (!outcome.ok()) {
    if (!sink.started()) return context.Fail(outcome.status());
    sink.Finish({});
    return exchange.End(OutcomeOf(ErrorOf(outcome.status()), exchange.cancellation().reason()));
  }
  sink.Finish(*outcome);
  exchange.End(StreamOutcome(*outcome, exchange.cancellation().reason()));
}

}  // namespace agent_graph::api

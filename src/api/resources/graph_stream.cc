// POST /v1/graph/stream: streams the events of a run, one JSON object per line.

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "api/resources/handlers.h"
#include "api/resources/run_request.h"
#include "api/resources/waiting_thread.h"
#include "api/stream/sink.h"
#include "base/letter_case.h"
#include "base/text.h"

namespace agent_graph::api {
namespace {

constexpr std::string_view kNdjson = "application/x-ndjson";

// Returns the text before `mark` without surrounding blanks, and removes both from `rest`.
std::string_view NextPiece(std::string_view& rest, char mark) {
  const size_t end = rest.find(mark);
  const std::string_view piece = Trim(rest.substr(0, end));
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return piece;
}

// Checks one entry of an Accept header; q=0 refuses the type.
bool AsksForNdjson(std::string_view entry) {
  if (!EqualsIgnoringCase(NextPiece(entry, ';'), kNdjson)) return false;
  while (!entry.empty()) {
    const std::string_view parameter = NextPiece(entry, ';');
    if (!StartsWithIgnoringCase(parameter, "q=")) continue;
    if (parameter.find_first_not_of("0.", 2) == std::string_view::npos) return false;
  }
  return true;
}

// Existing clients expect NDJSON with the type text/event-stream. A client that asks for the NDJSON
// type gets it.
std::string_view ContentType(std::string_view accept) {
  while (!accept.empty()) {
    if (AsksForNdjson(NextPiece(accept, ','))) return kNdjson;
  }
  return "text/event-stream";
}

bridge::HeaderList StreamHeaders(std::string_view accept) {
  bridge::HeaderList headers;
  headers.emplace_back("Content-Type", ContentType(accept));
  headers.emplace_back("Cache-Control", "no-cache, no-transform");
  headers.emplace_back("Connection", "keep-alive");  // for HTTP/1.1; the reply writer handles it
  headers.emplace_back("X-Accel-Buffering", "no");
  headers.emplace_back("Content-Encoding", "identity");
  return headers;
}

class HttpStream : public StreamSink {
 public:
  HttpStream(HandlerContext& context, Granularity granularity)
      : StreamSink(granularity), context_(context) {}

 private:
  void Begin(const run::RunStart& start) override {
    context_.exchange().Annotate(start.thread_id, start.run_id);
    context_.exchange().SendHead(
        context_.MakeHead(200, StreamHeaders(context_.head().Header("accept"))));
  }
  Status Send(std::string_view line) override {
    return context_.exchange().Send(line, bridge::kSendWaitMax);
  }
  void SendLast(std::string_view line) override { context_.exchange().SendLast(line); }
  void OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    context_.exchange().Hold(RunMemory(thread_bytes, reply_bytes));
  }
  Status AwaitMemory(uint64_t thread_bytes) override {
    return AwaitRunMemory(context_.exchange(), thread_bytes);
  }

  HandlerContext& context_;
};

}  // namespace

void StreamGraph(HandlerContext& context) {
  Problems problems;
  GraphRequest request = ReadGraphRequest(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  FindThreadOfResults(context, request.run);
  if (auto error = ResolveFiles(context, request)) return context.Fail(*error);
  HttpStream sink(context, request.granularity);
  bridge::Exchange& exchange = context.exchange();
  Result<run::RunOutcome> outcome =
      RunGraph(context, std::move(request.run), exchange.cancellation(), sink);
  if (!outcome.ok()) {
    if (!sink.started()) return context.Fail(outcome.status());
    sink.FinishFailed();
    return exchange.End(OutcomeOf(ErrorOf(outcome.status()), exchange.cancellation().reason()));
  }
  sink.Finish(*outcome);
  exchange.End(StreamOutcome(*outcome, exchange.cancellation().reason()));
}

}  // namespace agent_graph::api

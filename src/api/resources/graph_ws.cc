// WS /v1/graph/ws: one run per frame. Each run is streamed like POST /v1/graph/stream, one chunk
// per message. Errors in a frame are reported in an error chunk; the socket stays open.
#include <functional>
#include <optional>

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "api/http/request_memory.h"
#include "api/http/socket.h"
#include "api/resources/accepted_run.h"
#include "api/resources/handlers.h"
#include "api/resources/request_shapes.h"
#include "api/resources/requested_run.h"
#include "api/resources/run_request.h"
#include "api/resources/run_streaming.h"
#include "api/resources/waiting_thread.h"
#include "api/stream/line_reader.h"
#include "api/stream/run_outcome.h"
#include "api/stream/sink.h"
#include "base/clock.h"
#include "base/free_memory.h"
#include "base/json.h"
#include "base/json_weight.h"
#include "graph/compiled_graph.h"
#include "runtime/runtime.h"
#include "websocket/protocol.h"

namespace agent_graph::api {
namespace {

std::string Frame(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  std::string frame;
  frame.reserve(line.size() + 10);
  websocket::AppendFrame(frame, websocket::Opcode::kText, line);
  return frame;
}

class SocketStream : public StreamSink {
 public:
  SocketStream(bridge::Exchange& exchange, Granularity granularity)
      : StreamSink(granularity), exchange_(exchange) {}

 private:
  void Begin(const run::RunStart& start) override {
    exchange_.Annotate(start.thread_id, start.run_id);
  }
  Status Send(std::string_view line) override {
    return exchange_.Send(Frame(line), bridge::kSendWaitMax);
  }
  void SendLast(std::string_view line) override { exchange_.SendLast(Frame(line)); }
  void OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    exchange_.Hold(RunMemory(thread_bytes, reply_bytes));
  }
  Status AwaitHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    return AwaitRunGrowth(exchange_, thread_bytes, reply_bytes);
  }
  Status AwaitMemory(uint64_t thread_bytes) override {
    return AwaitRunMemory(exchange_, thread_bytes);
  }

  bridge::Exchange& exchange_;
};

// Sends the lines of an accepted run. The connection has pings of its own.
class SocketReader : public LineReader {
 public:
  SocketReader(bridge::Exchange& exchange, Granularity granularity)
      : LineReader(granularity, false), exchange_(exchange) {}

 private:
  Status Send(const StreamLine& line) override {
    return exchange_.Send(Frame(line.json), bridge::kSendWaitMax);
  }
  Status SendHeartbeat() override { return Status::Ok(); }

  bridge::Exchange& exchange_;
};

// Reports a run that did not start, or one that cannot be followed.
class Refusal {
 public:
  explicit Refusal(HandlerContext& context, std::string thread_id = "", std::string run_id = "")
      : context_(context), writer_({std::move(thread_id), std::move(run_id), false, ""}) {}

  // Sends an error chunk. Used for a frame that is not a request.
  void SendError(const ErrorInfo& error) {
    json data = {{"reason", MessageOf(error)}, {"code", CodeOf(error)}};
    for (const ErrorDetail& detail : error.details) {
      data["details"].push_back(
          {{"loc", detail.location}, {"msg", detail.message}, {"type", detail.type}});
    }
    run::RunEvent event;
    event.kind = run::RunEvent::Kind::kError;
    event.data_json = DumpJson(data);
    event.step = -1;
    context_.exchange().SendLast(Frame(writer_.Line(event, UnixSeconds())));
  }

  // Sends an error chunk and the final chunk, because a client waits for the end of each request.
  void Answer(const ErrorInfo& error, run::RunStatus outcome = run::RunStatus::kError) {
    SendError(error);
    context_.exchange().SendLast(Frame(writer_.DoneLine({.outcome = outcome}, UnixSeconds())));
  }

 private:
  HandlerContext& context_;
  const StreamChunkWriter writer_;
};

// Reads the frame's JSON object into the context. Returns the error if there is one.
std::optional<ErrorInfo> ReadFrame(HandlerContext& context, const bridge::SocketMessage& message) {
  const settings::LimitSettings& limits = context.api().settings->limits;
  if (message.binary) {
    return ErrorInfo{ApiError::kValidation, "a frame must be text, a JSON object", {}};
  }
  const auto work = [&](const std::function<void()>& step) {
    const bool on_pool = message.payload.size() > limits.json_io_pool_bytes;
    on_pool ? context.api().runtime->RunOnIoPool(step) : step();
  };
  JsonWeight weight;
  work([&] { weight.Add(message.payload); });
  const uint64_t weighed = weight.bytes(limits.json_values_max);
  // A message that waits is still input, of which only so much is read.
  if (auto error = AwaitBodyMemory(context.exchange(), weighed)) return error;
  context.exchange().socket().CountedAsHeld();
  Result<json> parsed = json();
  work([&] {
    parsed = ParseJson(message.payload, {limits.json_depth_max, limits.json_values_max});
  });
  if (!parsed.ok()) {
    return ErrorInfo{
        ApiError::kValidation, "the frame is not JSON: " + parsed.status().message(), {}};
  }
  if (!parsed->is_object()) {
    return ErrorInfo{ApiError::kValidation, "the frame must be a JSON object", {}};
  }
  context.SetBody(*std::move(parsed), message.payload.size());
  return std::nullopt;
}

bool IsResume(const HandlerContext& context) {
  return ChoiceOf(context.body(), kInvokeType) == 1;
}

GraphRequest ReadRequest(HandlerContext& context, Problems& problems) {
  CheckFields(context.body(), kRunFrame.fields, {"body"}, problems);
  if (!problems.empty()) return {};
  return ReadGraphRequest(context, problems, IsResume(context) ? "tool_result" : "messages");
}

// Like ResolveRequest, for a frame.
std::optional<ErrorInfo> ResolveFrame(HandlerContext& context, GraphRequest& request) {
  const bool resumes = IsResume(context);
  if (resumes) FindThreadOfResults(context, request.run);
  if (resumes && request.run.thread_id.empty()) {
    Problems problems;
    problems.Add({"body", "config", "thread_id"}, "is required for a resume",
                 ProblemType::kMissing);
    return std::move(problems).Error();
  }
  return ResolveRequest(context, request);
}

// Returns the thread id for the chunks of a refused request.
std::string NamedThread(const json& body) {
  Problems ignored;
  return BodyThreadId(body, ignored);
}

// Ends the frames of a run that goes on. There is no final chunk, because it would name an outcome,
// and so the socket closes: a client must not wait for that chunk.
void StopFollowing(HandlerContext& context, Refusal& unfinished, const ErrorInfo& error) {
  unfinished.SendError(error);
  context.exchange().CloseSocket(
      websocket::close_code::kInternal, "the run cannot be followed",
      OutcomeOf(error, context.exchange().active_cancellation().reason()));
}

// The run's end was not read: this worker leaves, the client has gone, or a read or write failed.
void EndUnfinished(HandlerContext& context, Refusal& unfinished, const Status& failure) {
  bridge::Exchange& exchange = context.exchange();
  const runtime::CancelReason reason = exchange.active_cancellation().reason();
  if (reason == runtime::CancelReason::kClientGone) return;
  // The run was accepted with the deadline of its frame, so it ends, too.
  if (reason == runtime::CancelReason::kDeadline) {
    return unfinished.Answer(context.Explain(failure));
  }
  if (failure.code() == StatusCode::kCancelled) {
    return exchange.CloseSocket(websocket::close_code::kGoingAway, "server reload", "shutdown");
  }
  StopFollowing(context, unfinished, context.Explain(failure));
}

// The run does not need this connection: the frames follow it.
void FollowAccepted(HandlerContext& context, GraphRequest request, const RunTerms& terms,
                    Refusal& refusal) {
  const FollowerLimit::Place place = EnterFollowers(context, request.run.thread_id);
  if (!place) return refusal.Answer(TooManyFollowers());
  FollowerOptions options;
  options.with_state = request.granularity != Granularity::kLow;
  SocketReader reader(context.exchange(), request.granularity);
  AcceptedRun accepted;
  if (auto error = AcceptGraphRun(context, std::move(request), terms, accepted)) {
    return refusal.Answer(*error);
  }
  const RunName run{accepted.run.thread_id, accepted.run.run_id};
  Refusal unfinished(context, run.thread_id, run.run_id);
  const runtime::Cancellation& cancellation = context.exchange().active_cancellation();
  RunFollower follower = MakeFollower(context, run, options, cancellation);
  const Result<RunFollower::Place> found = follower.Open(std::nullopt);
  std::optional<ErrorInfo> misplaced;
  if (found.ok()) misplaced = ErrorOfPlace(context, run.thread_id, *found);
  const bool can_follow = found.ok() && !misplaced;
  const Status followed = can_follow ? follower.Follow(reader) : found.status();
  LeaveRun(context, terms, accepted, cancellation.reason());
  if (!followed.ok()) return EndUnfinished(context, unfinished, followed);
  if (!misplaced) return;
  const state::RunState state = follower.record().state;
  state::HasEnded(state) ? unfinished.Answer(*misplaced, OutcomeOfRun(state))
                         : StopFollowing(context, unfinished, *misplaced);
}

void Run(HandlerContext& context) {
  Refusal refusal(context, NamedThread(context.body()));
  bridge::Exchange& exchange = context.exchange();
  const Route& route = context.route();
  if (std::optional<ErrorInfo> error = context.CheckBodyThread(route)) {
    return refusal.Answer(*error);
  }
  Problems problems;
  GraphRequest request = ReadRequest(context, problems);
  RunTerms terms = problems.empty() ? ReadRunTerms(context, problems) : RunTerms();
  if (!problems.empty()) return refusal.Answer(std::move(problems).Error());
  if (auto error = FindRunOfKey(context, terms)) return refusal.Answer(*error);
  if (!terms.known) {
    if (auto error = ResolveFrame(context, request)) return refusal.Answer(*error);
  }
  if (terms.accepted) return FollowAccepted(context, std::move(request), terms, refusal);
  SocketStream sink(exchange, request.granularity);
  Result<run::RunOutcome> outcome =
      RunGraph(context, std::move(request.run), exchange.active_cancellation(), sink);
  if (outcome.ok()) return sink.Finish(*outcome);
  if (sink.started()) return sink.FinishFailed();
  refusal.Answer(context.Explain(outcome.status()));
}

}  // namespace

void OpenGraphSocket(HandlerContext& context) {
  if (context.api().graph->live_root() == nullptr) return;
  Refusal(context).SendError({ApiError::kValidation, "this graph is live, use /v1/graph/live", {}});
  context.exchange().CloseSocket(websocket::close_code::kPolicy, "the graph is live", "rejected");
}

void RunGraphFrame(HandlerContext& context, bridge::SocketMessage& message) {
  if (std::optional<ErrorInfo> error = ReadFrame(context, message)) {
    context.exchange().Hold(0);
    Refusal(context).SendError(*error);
    return;
  }
  FreeMemory(message.payload);  // free the frame, because the run may take long
  Run(context);
  context.SetBody(json::object(), 0);
  context.exchange().Hold(0);
}

}  // namespace agent_graph::api

#include "api/resources/run_streaming.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "api/http/request_memory.h"
#include "api/resources/run_record.h"
#include "api/stream/line_reader.h"
#include "base/ids.h"
#include "base/percent_encoding.h"
#include "run/host/run_host.h"
#include "state/service.h"

namespace agent_graph::api {
namespace {

// Longest wait until the queue is at its low mark; then the reader must return with its cursor.
constexpr std::chrono::seconds kReaderWaitMax{60};
constexpr auto kRandomMax = static_cast<double>(std::numeric_limits<uint64_t>::max());

class HttpReader : public LineReader {
 public:
  HttpReader(bridge::Exchange& exchange, const RunStreamRequest& stream)
      : LineReader(stream.granularity, stream.delta_cursors),
        exchange_(exchange),
        framing_(stream.framing) {}

 private:
  Status Send(const StreamLine& line) override {
    if (framing_ == Framing::kNdjson) return exchange_.Send(line.json, kReaderWaitMax);
    return exchange_.Send(Frame(framing_, line), kReaderWaitMax);
  }
  Status SendHeartbeat() override { return exchange_.Send(HeartbeatOf(framing_), kReaderWaitMax); }

  bridge::Exchange& exchange_;
  const Framing framing_;
};

std::string StatePath(const HandlerContext& context, const std::string& thread_id) {
  return context.head().base_path + "/v1/threads/" + PercentEncode(thread_id) + "/state";
}

}  // namespace

FollowerLimit::Place EnterFollowers(HandlerContext& context, const std::string& thread_id) {
  // At most half of the worker's requests may follow runs; the others stay free to start runs.
  const size_t max = (context.api().settings->limits.runs_max + 1) / 2;
  return context.api().followers->Enter(thread_id, max);
}

ErrorInfo TooManyFollowers() {
  return {ApiError::kOverloaded, "too many requests follow runs of this worker or thread", {}};
}

bridge::HeaderList StreamHeaders(std::string_view content_type) {
  bridge::HeaderList headers;
  headers.emplace_back("Content-Type", content_type);
  headers.emplace_back("Cache-Control", "no-cache, no-transform");
  headers.emplace_back("Connection", "keep-alive");  // for HTTP/1.1; the reply writer handles it
  headers.emplace_back("X-Accel-Buffering", "no");
  headers.emplace_back("Content-Encoding", "identity");
  return headers;
}

RunFollower MakeFollower(HandlerContext& context, const RunName& run, FollowerOptions options,
                         const runtime::Cancellation& cancellation) {
  LiveRuns runs;
  if (run::RunHost* host = context.api().host; host != nullptr) {
    runs.here = [host, run] { return host->local().Find(run.thread_id, run.run_id); };
    runs.elsewhere = [host, run](uint64_t thread_number) {
      return host->remote().Join(run.thread_id, thread_number, run.run_id);
    };
    // Readers that go at different times do not all come to the next worker at once.
    const double share = static_cast<double>(RandomUint64()) / kRandomMax;
    runs.leave_time = [host, share] { return host->LeaveTime(share); };
  }
  options.read_state = [&context, thread_id = run.thread_id] {
    return ReadThreadState(context.exchange(), context.state(), context.caller().scope, thread_id);
  };
  return RunFollower(context.state(), std::move(runs),
                     {context.caller().scope, run.thread_id, run.run_id}, std::move(options),
                     cancellation);
}

std::optional<ErrorInfo> ErrorOfPlace(const HandlerContext& context, const std::string& thread_id,
                                      RunFollower::Place place) {
  const std::string rest = "; GET " + StatePath(context, thread_id) + " has the state";
  switch (place) {
    case RunFollower::Place::kFound:
    case RunFollower::Place::kBehindEnd:
      return std::nullopt;
    case RunFollower::Place::kOtherThread:
      return ErrorInfo{
          ApiError::kGone,
          "the cursor is of another thread, or from before a restore of the database" + rest,
          {}};
    case RunFollower::Place::kCutAway:
      return ErrorInfo{ApiError::kGone, "this part of the stream is no longer kept" + rest, {}};
    case RunFollower::Place::kHistoryLost:
      return ErrorInfo{ApiError::kGone,
                       "the database was restored to a time before this part of the stream" + rest,
                       {}};
  }
  return std::nullopt;
}

void StreamRun(HandlerContext& context, const RunStreamRequest& stream,
               const FollowerLimit::Place&) {
  bridge::Exchange& exchange = context.exchange();
  FollowerOptions options;
  options.with_state = stream.granularity != Granularity::kLow;
  RunFollower follower = MakeFollower(context, stream.run, options, exchange.cancellation());
  const Result<RunFollower::Place> place = follower.Open(stream.after);
  if (!place.ok()) return context.Fail(place.status());
  if (auto error = ErrorOfPlace(context, stream.run.thread_id, *place)) return context.Fail(*error);
  if (*place == RunFollower::Place::kBehindEnd) {
    exchange.SendHead(context.MakeHead(204, {}));
    return exchange.End("ok");
  }
  bridge::HeaderList headers = StreamHeaders(stream.content_type);
  headers.emplace_back("Location", RunStreamPath(context, stream.run.thread_id, stream.run.run_id));
  exchange.SendHead(context.MakeHead(200, std::move(headers)));
  if (context.head().method == "HEAD") return exchange.End("ok");
  HttpReader reader(exchange, stream);
  const Status followed = follower.Follow(reader);
  if (followed.ok()) return exchange.End("ok");
  exchange.End(OutcomeOf(ErrorOf(followed), exchange.cancellation().reason()));
}

}  // namespace agent_graph::api

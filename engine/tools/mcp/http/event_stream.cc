#include "tools/mcp/http/event_stream.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/letter_case.h"
#include "net/sse.h"
#include "runtime/large_work.h"
#include "tools/mcp/protocol/json_rpc.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr std::chrono::milliseconds kRetryDefault{1'000};
// Minimum delay before reconnecting, even if the server states a shorter one.
constexpr std::chrono::milliseconds kRetryMin{100};
constexpr std::chrono::milliseconds kBarrenRetryMax{30'000};
constexpr int kConnectionsMax = 1'000;
constexpr int kBarrenMax = 5;

bool IsReplyTo(const json& message, std::optional<int64_t> id) {
  return id && message.value("id", json()) == *id;
}

void TakePlace(const net::SseParser& parser, const StreamHandlers& handlers, StreamPlace& place) {
  if (parser.retry()) place.retry = parser.retry();
  const std::string& id = parser.last_event_id();
  if (id.empty() || id == place.last_event_id) return;
  place.last_event_id = id;
  if (handlers.on_place) handlers.on_place(place);
}

// Processes complete events. At the end of the stream, an event that is not JSON was truncated.
Result<EventsRead> TakeEvents(net::SseParser& parser, ReplySize& size, bool at_end,
                              std::optional<int64_t> id, const StreamHandlers& handlers,
                              StreamPlace& place) {
  net::SseEvent event;
  for (;;) {
    AG_ASSIGN_OR_RETURN(const bool found, parser.Next(event));
    TakePlace(parser, handlers, place);
    if (!found) return EventsRead();
    if (event.data.empty()) continue;
    Result<json> message = json();
    runtime::RunSized(event.data.size(), [&] { message = ParseJson(event.data); });
    if (!message.ok() || !message->is_object()) {
      if (at_end) return EventsRead();
      return Status(StatusCode::kUnavailable, "the server's stream is not valid");
    }
    if (message->contains("method")) {
      if (!handlers.on_message(*message, place))
        return EventsRead{.end = EventsRead::End::kStopped};
    } else if (IsReplyTo(*message, id)) {
      return EventsRead{EventsRead::End::kReply, *std::move(message)};
    }
    size.Restart();
  }
}

}  // namespace

std::chrono::milliseconds ReopenDelay(const StreamPlace& place) {
  return std::max(place.retry.value_or(kReopenDelayMin), kReopenDelayMin);
}

bool IsEventStream(const net::HttpHead& head) {
  return ContainsIgnoringCase(head.Header("content-type"), "text/event-stream");
}

Result<EventsRead> ReadEvents(net::HttpCall& call, std::optional<int64_t> id,
                              const StreamHandlers& handlers, StreamPlace& place) {
  net::SseParser parser(kReplyBytesMax);
  ReplySize size(handlers.memory);
  for (bool end = false;;) {
    Result<std::string> piece = call.Read();
    if (!piece.ok() && piece.status().code() != StatusCode::kUnavailable) return piece.status();
    place.failure = piece.status();
    end = !piece.ok() || piece->empty();
    if (piece.ok() && end) parser.Finish();
    if (!end) {
      AG_RETURN_IF_ERROR(size.Add(*piece));
      parser.Feed(*std::move(piece));
    }
    AG_ASSIGN_OR_RETURN(EventsRead read, TakeEvents(parser, size, end, id, handlers, place));
    if (read.end == EventsRead::End::kReply) call.Drain(kDrainTime);
    if (read.end != EventsRead::End::kEnded || end) return read;
  }
}

std::optional<std::chrono::milliseconds> ResumePolicy::Next(const StreamPlace& place) {
  if (place.last_event_id.empty() || ++connections_ > kConnectionsMax) return std::nullopt;
  const bool barren = place.last_event_id == last_event_id_;
  last_event_id_ = place.last_event_id;
  barren_ = barren ? barren_ + 1 : 0;
  if (barren_ > kBarrenMax) return std::nullopt;
  std::chrono::milliseconds wait = std::max(place.retry.value_or(kRetryDefault), kRetryMin);
  for (int i = 1; i < barren_ && wait < kBarrenRetryMax; ++i) wait *= 2;
  return wait;
}

}  // namespace agent_graph::tools::mcp

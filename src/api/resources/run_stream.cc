// GET /v1/threads/{thread_id}/runs/{run_id}/stream: the lines of a run from a cursor on, then live.
#include "api/http/query.h"
#include "api/resources/handlers.h"
#include "api/resources/run_shapes.h"
#include "api/resources/run_streaming.h"
#include "base/utf8.h"

namespace agent_graph::api {
namespace {

constexpr std::string_view kBeginning = "-1";

// Returns the text of the cursor and where the request has it. A browser that connects again sends
// the URL of the first connection, so the header is newer.
std::string_view CursorText(const HandlerContext& context, const Query& query,
                            std::vector<std::string>& location) {
  const std::string_view header = context.head().Header("last-event-id");
  location = {"header", "Last-Event-ID"};
  if (!header.empty()) return header;
  location = {"query", std::string(kAfterCursor.name)};
  return query.Find(kAfterCursor.name).value_or("");
}

// Reads the cursor; `after` stays empty for the beginning.
std::optional<ErrorInfo> ReadCursor(const HandlerContext& context, const Query& query,
                                    std::optional<run::Cursor>& after) {
  std::vector<std::string> location;
  const std::string_view text = CursorText(context, query, location);
  if (text.empty() || text == kBeginning) return std::nullopt;
  after = run::ParseCursor(text);
  if (after) return std::nullopt;
  const std::string problem = "is not a cursor of this service; -1 is the beginning";
  return ErrorInfo{ApiError::kBadRequest,
                   location[0] + "." + location[1] + ": " + problem,
                   {{location, problem, ProblemType::kValue}}};
}

}  // namespace

void StreamStoredRun(HandlerContext& context) {
  Problems problems;
  const Query query(context.head().query);
  RunStreamRequest stream;
  stream.run.thread_id = context.ThreadId(problems);
  stream.run.run_id = context.head().path_parameters.at(1);
  stream.granularity = static_cast<Granularity>(ReadChoice(query, kResponseGranularity, problems));
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  if (stream.run.run_id.size() > kIdBytesMax || !IsUtf8(stream.run.run_id)) {
    return context.Fail(NotFound("run not found"));
  }
  if (auto error = ReadCursor(context, query, stream.after)) return context.Fail(*error);
  stream.framing =
      AcceptsNdjson(context.head().Header("accept")) ? Framing::kNdjson : Framing::kSse;
  stream.content_type = ContentTypeOf(stream.framing);
  const FollowerLimit::Place place = EnterFollowers(context, stream.run.thread_id);
  if (!place) return context.Fail(TooManyFollowers());
  StreamRun(context, stream, place);
}

}  // namespace agent_graph::api

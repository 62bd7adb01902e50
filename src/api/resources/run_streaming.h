// Answers a request with the lines of a run that it follows.
#pragma once

#include <optional>
#include <string>

#include "api/http/context.h"
#include "api/stream/framing.h"
#include "api/stream/granularity.h"
#include "api/stream/run_follower.h"

namespace agent_graph::api {

// A place for one more request that follows a run of the thread; false if there are too many. Empty
// `thread_id`: a new thread.
FollowerLimit::Place EnterFollowers(HandlerContext& context, const std::string& thread_id);
ErrorInfo TooManyFollowers();

// A run of the caller's.
struct RunName {
  std::string thread_id;
  std::string run_id;
};

struct RunStreamRequest {
  RunName run;
  std::optional<run::Cursor> after = {};
  Granularity granularity = Granularity::kLow;
  // metadata.cursor in every delta; false: only in the first delta of a message.
  bool delta_cursors = true;
  Framing framing = Framing::kNdjson;
  std::string_view content_type;
};

// Streams the run and ends the exchange. Errors before the first line are answered as such.
// `place` is that of this request.
void StreamRun(HandlerContext& context, const RunStreamRequest& stream,
               const FollowerLimit::Place& place);

// Returns a follower of a run, as the caller sees it.
RunFollower MakeFollower(HandlerContext& context, const RunName& run, FollowerOptions options,
                         const runtime::Cancellation& cancellation);
// Returns the error for a place at which the run cannot be followed; nullopt: it can.
std::optional<ErrorInfo> ErrorOfPlace(const HandlerContext& context, const std::string& thread_id,
                                      RunFollower::Place place);

// Headers of every streamed response.
bridge::HeaderList StreamHeaders(std::string_view content_type);

}  // namespace agent_graph::api

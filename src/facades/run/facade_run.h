// Begins a run for a façade and passes its events to a reader, however the run is executed: by this
// request, or accepted, so that it survives its connection and its worker.
//
// A handler of a façade reads its request into an api::GraphRequest (api::RunRequestOf has the
// caller's part), chooses the terms, and gives both to PerformRun with a reader that writes the
// response. StepReader (step_reader.h) is a reader for protocols that must know when a
// message begins and ends. Functions suspend the calling fiber; errors are returned, nothing is
// answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/http/context.h"
#include "api/http/validation.h"
#include "api/resources/accepted_run.h"
#include "api/resources/run_request.h"
#include "api/resources/run_streaming.h"
#include "api/stream/run_reader.h"

namespace agent_graph::facades {

struct FacadeRun {
  // Without a thread id the run gets a new thread, unless `request.run.transient` is set: then
  // nothing is stored, and the run cannot be accepted.
  api::GraphRequest request;
  api::RunTerms terms = {};
  // False: a run that this request executes reports no pieces of messages. A run that it follows
  // does: the reader ignores them.
  bool wants_deltas = true;
  bool wants_states = false;  // RunReader::OnState, RunEnd::state_json
  // Memory that the reader keeps of the request, in bytes. Counted while this request executes the
  // run; a reader that follows a run counts by itself (HeldBytes).
  uint64_t kept_bytes = 0;
};

// The terms of a request that may have an Idempotency-Key. With a key, the run is accepted and goes
// on without its client. A repeated request must have the same `thread_id`, which may come from a
// header and thus be missing in the body.
api::RunTerms ReadTerms(const api::HandlerContext& context, const std::string& thread_id,
                        api::Problems& problems);

// Returns the error for a thread that the caller must not use, or that nothing can store; nullopt:
// the run may use it. `thread_id` may be empty.
std::optional<api::ErrorInfo> CheckThread(api::HandlerContext& context,
                                          const std::string& thread_id);

// Returns the error for a result whose call is missing, in a request without a thread: its messages
// are then the whole conversation. `member`: the member of the body that has them.
std::optional<api::ErrorInfo> CheckResults(run::RunRequest& run, const std::string& member);

// Finds the run that the request's key has begun, or else what the run's messages refer to.
std::optional<api::ErrorInfo> FindKeyOrFiles(api::HandlerContext& context, FacadeRun& run);

// Runs until the reader's OnEnd, and returns nullopt. Returns the error if the run did not begin,
// or if its events have ended before: the connection is gone, the worker leaves, or the reader
// failed. A run of this request ends with its connection; so does an accepted one if the terms say
// so. Frees the request's body.
std::optional<api::ErrorInfo> PerformRun(api::HandlerContext& context, FacadeRun&& run,
                                         api::RunReader& reader);

// Passes the events of a run of the caller's, from its beginning, as PerformRun does. kNotFound: no
// such run; kGone: its beginning is no longer kept.
std::optional<api::ErrorInfo> ReadRun(api::HandlerContext& context, const api::RunName& run,
                                      const api::FollowerOptions& options, api::RunReader& reader);

}  // namespace agent_graph::facades

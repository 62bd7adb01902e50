// Accepted runs: the state keeps the request of a run, so that the run survives its connection and
// its worker.
#pragma once

#include <optional>

#include "api/http/context.h"
#include "api/http/validation.h"
#include "api/resources/run_request.h"
#include "state/runs.h"

namespace agent_graph::api {

// How a request wants its run to be executed.
struct RunTerms {
  bool accepted = false;            // false: by this request, as long as its connection lasts
  bool cancelled_on_leave = false;  // an accepted run that ends when its connection does
  std::optional<state::RunKey> key = {};
};

// Reads `config.on_disconnect` and the Idempotency-Key of a checked body.
RunTerms ReadRunTerms(const HandlerContext& context, Problems& problems);

struct AcceptedRun {
  state::RunRecord run;
  bool repeated = false;  // an earlier request with the same key began it
};

// Accepts the run: durable when it returns nullopt. Returns the error to answer with otherwise;
// then nothing was stored. Frees the request's body.
std::optional<ErrorInfo> AcceptGraphRun(HandlerContext& context, GraphRequest request,
                                        const RunTerms& terms, AcceptedRun& accepted);

// Cancels the run if it is to end with its connection, which has gone.
void LeaveRun(HandlerContext& context, const RunTerms& terms, const AcceptedRun& accepted,
              runtime::CancelReason reason);

}  // namespace agent_graph::api

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
  std::optional<state::KeyRecord> known = {};  // the run that the key names; see FindRunOfKey
};

// Reads `config.on_disconnect` and the Idempotency-Key of a checked body.
RunTerms ReadRunTerms(const HandlerContext& context, Problems& problems);

// Sets `terms.known` if an earlier request with the same key and body began a run. The request is
// then a repetition: whatever it refers to may have changed meanwhile, and must not be looked up,
// checked or stored again. Returns the error to answer with, if there is one.
std::optional<ErrorInfo> FindRunOfKey(HandlerContext& context, RunTerms& terms);

struct AcceptedRun {
  state::RunRecord run;
  bool repeated = false;  // an earlier request with the same key began it
};

// Accepts the run: durable when it returns nullopt. Returns the error to answer with otherwise;
// then nothing was stored. Finds the run of a repetition, of which it needs the terms only. Frees
// the request's body.
std::optional<ErrorInfo> AcceptGraphRun(HandlerContext& context, GraphRequest request,
                                        const RunTerms& terms, AcceptedRun& accepted);

// Cancels the run if it is to end with its connection, which has gone.
void LeaveRun(HandlerContext& context, const RunTerms& terms, const AcceptedRun& accepted,
              runtime::CancelReason reason);

}  // namespace agent_graph::api

// Calls of a tool node whose result, or whose wait for the user, follows from what happened before.
#pragma once

#include "run/context/lost_calls.h"
#include "run/context/open_inputs.h"
#include "run/nodes/tool_call.h"

namespace agent_graph::run {

// Prepares a call that may ask the user, or has done so, or that waited for a decision. Returns
// false if the tool is not called: the call still waits, or has its result.
bool TakeAnswers(const OpenInputs& inputs, PendingCall& call);

// Gives the call the result that follows from the attempts before, or, if `may_ask`, lets the
// client decide. False: there is none, and the tool is called. `earlier` may be null.
bool Settle(const LostCalls* earlier, bool may_ask, PendingCall& call);

}  // namespace agent_graph::run

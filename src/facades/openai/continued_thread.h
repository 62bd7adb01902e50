// Chooses the request that continues a response in its thread.
#pragma once

#include "api/http/context.h"
#include "base/status.h"
#include "facades/openai/object_ids.h"

namespace agent_graph::openai {

// Returns true if the request may continue the response in its thread: nothing has followed the
// response there, and no other request is about to. Of several requests at the same time one gets
// true; the others wait until its run has begun, and get false. Suspends the calling fiber.
Result<bool> ClaimThread(api::HandlerContext& context, const ResponseName& previous);

}  // namespace agent_graph::openai

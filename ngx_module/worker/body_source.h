// Reads the bodies that the engine asks for after it has authenticated the caller (LateBody), and
// delivers them to their exchanges.
#pragma once

#include "ngx_module/request/exchange_table.h"
#include "ngx_module/request/request_context.h"

namespace agent_graph::nginx {

// Starts to read a body in phase kWanted. The request may have been destroyed on return.
void ReadLateBody(RequestContext& context);
// Goes on with a body in phase kStalled, which has credit again. The request may have been
// destroyed on return.
void ResumeLateBody(RequestContext& context);
// The request ends without the body that the engine may wait for.
void AbandonLateBody(RequestContext& context, ExchangeSlot& slot);

}  // namespace agent_graph::nginx

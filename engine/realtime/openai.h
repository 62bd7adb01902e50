// OpenAI's Realtime API over a WebSocket, in its general-availability form.
#pragma once

#include "realtime/protocol.h"

namespace agent_graph::realtime {

Dialect OpenAiDialect();

}  // namespace agent_graph::realtime

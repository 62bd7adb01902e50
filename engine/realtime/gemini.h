// Gemini's Live API (BidiGenerateContent) over a WebSocket.
#pragma once

#include "realtime/protocol.h"

namespace agent_graph::realtime {

Dialect GeminiDialect();

}  // namespace agent_graph::realtime

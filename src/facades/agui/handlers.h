// Handlers of the façade for AG-UI. Each runs on its own fiber, may suspend it, and answers the
// request.
#pragma once

namespace agent_graph::api {
class HandlerContext;
}

namespace agent_graph::agui {

void RunAgent(api::HandlerContext& context);  // run_agent.cc

}  // namespace agent_graph::agui

// Routes of the graph and its runs. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/handlers.h"
#include "api/resources/request_shapes.h"
#include "api/resources/run_shapes.h"

namespace agent_graph::api {

inline constexpr std::array kGraphRoutes = {
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/invoke",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kInvoke},
        .body = BodyKind::kJson,
        .handler = InvokeGraph,
        .summary = "Run the graph and return the conversation",
        .shape = {.body = &kRunBody, .data = "Invocation"},
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/stream",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kStream},
        .body = BodyKind::kJson,
        .handler = StreamGraph,
        .summary = "Run the graph and stream its events, one JSON object per line",
        .shape = {.body = &kRunBody, .query = &kGraphStreamQuery, .data = kStreamAnswer},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kRead},
        .handler = GetGraph,
        .summary = "Describe the graph",
        .shape = {.data = "GraphDescription"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph/ws",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kStream},
        .handler = OpenGraphSocket,
        .summary = "Run the graph for each request that arrives over a WebSocket",
        .shape = {.body = &kRunFrame, .data = kStreamAnswer},
        .transport = Transport::kSocket,
        .on_message = RunGraphFrame,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph/live",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kStream},
        .handler = OpenLiveSocket,
        .summary = "Speak with a live agent over a WebSocket",
        .transport = Transport::kLiveSocket,
        .on_message = RunLiveSession,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph/tools",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kRead},
        .handler = GetTools,
        .summary = "List the tools of each tool node",
        .shape = {.data = "ToolList"},
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/setup",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kSetup},
        .body = BodyKind::kJson,
        .handler = SetUpTools,
        .summary = "Replace the tools of tool nodes that the client runs",
        .shape = {.body = &kSetupBody, .data = "SetupResult"},
        .closed = SetupIsClosed,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph:StateSchema",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kRead},
        .handler = GetStateSchema,
        .summary = "JSON Schema of the graph's state",
        .shape = {.data = "StateSchema"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/observability/{thread_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kRead},
        .handler = GetTrace,
        .summary = "Trace of the latest runs of a thread",
        .shape = {.query = &kTraceQuery, .data = "Trace"},
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/stop",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kStop},
        .body = BodyKind::kJson,
        .handler = StopGraph,
        .summary = "Stop the run of a thread",
        .shape = {.body = &kStopBody, .data = "StopResult"},
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/fix",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kFix},
        .body = BodyKind::kJson,
        .handler = FixGraph,
        .summary = "Remove tool calls without a result and results without a call",
        .shape = {.body = &kFixBody, .data = "FixResult"},
    },
};

}  // namespace agent_graph::api

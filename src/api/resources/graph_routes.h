// Routes of the graph and its runs. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/graph_examples.h"
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
        .description =
            "Appends the messages to a thread, runs the graph to its end and returns the "
            "messages of this run. Without `config.thread_id` it makes a new thread; "
            "`data.meta.thread_id` names it. `/v1/graph/stream` sends the same run piece by "
            "piece.",
        .shape = {.body = &kRunBody,
                  .data = "Invocation",
                  .request_headers = kRunRequestHeaders,
                  .response_headers = kRunResponseHeaders},
        .example = kInvokeExample,
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/stream",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kStream},
        .body = BodyKind::kJson,
        .handler = StreamGraph,
        .summary = "Run the graph and stream its events, one JSON object per line",
        .description =
            "Like `/v1/graph/invoke`, but each line is a chunk that is sent as soon as there is "
            "one: parts of messages (`delta` is true), whole messages, states and updates. The "
            "last chunk has `data.status` `done`, also after an `error` chunk.",
        .shape = {.body = &kRunBody,
                  .query = &kGraphStreamQuery,
                  .data = kStreamAnswer,
                  .request_headers = kRunRequestHeaders,
                  .response_headers = kRunResponseHeaders},
        .example = kStreamExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kRead},
        .handler = GetGraph,
        .summary = "Describe the graph",
        .description =
            "The nodes and edges of the graph, with `__start__` and `__end__`, and what the "
            "service is configured with.",
        .shape = {.data = "GraphDescription"},
        .example = kGraphExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph/ws",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kStream},
        .handler = OpenGraphSocket,
        .summary = "Run the graph for each request that arrives over a WebSocket",
        .description =
            "Each text frame of the client is one run, as the body of `/v1/graph/stream`; the "
            "server answers with the chunks of the stream. A frame that is not valid gets an "
            "`error` chunk and leaves the connection open.",
        .shape = {.body = &kRunFrame, .data = kStreamAnswer},
        .transport = Transport::kSocket,
        .on_message = RunGraphFrame,
        .example = kSocketExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph/live",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kStream},
        .handler = OpenLiveSocket,
        .summary = "Speak with a live agent over a WebSocket",
        .description =
            "The first frame of the client opens the session; all its fields are optional. Then "
            "binary frames carry audio (PCM16, mono: 16 kHz from the client, 24 kHz from the "
            "server) and text frames events. Needs a graph that starts at a live agent.",
        .transport = Transport::kLiveSocket,
        .on_message = RunLiveSession,
        .example = kLiveExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph/tools",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kRead},
        .handler = GetTools,
        .summary = "List the tools of each tool node",
        .description =
            "The tools that models may call, by the tool node that runs them: in this service "
            "(`local`), on an MCP server (`mcp`) or in the client (`remote`).",
        .shape = {.data = "ToolList"},
        .example = kToolsExample,
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/setup",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kSetup},
        .body = BodyKind::kJson,
        .handler = SetUpTools,
        .summary = "Replace the tools of tool nodes that the client runs",
        .description =
            "Declares tools that the client itself runs, in place of those that the named nodes "
            "had. For development: refused with `MODE=production` and with `auth`; use "
            "`remote_tools` of service.json there.",
        .shape = {.body = &kSetupBody, .data = "SetupResult"},
        .closed = SetupIsClosed,
        .example = kSetupExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/graph:StateSchema",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kRead},
        .handler = GetStateSchema,
        .summary = "JSON Schema of the graph's state",
        .description =
            "Messages, summary and the graph's own fields, as `/v1/threads/{thread_id}/state` "
            "returns them.",
        .shape = {.data = "StateSchema"},
        .example = kStateSchemaExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/observability/{thread_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kRead},
        .reads_page = true,
        .handler = GetTrace,
        .summary = "Trace of the latest runs of a thread",
        .description =
            "The steps of a run with their durations, and the ids of the latest runs of the "
            "thread. Empty with `MODE=production`: export the runs to OpenTelemetry there.",
        .shape = {.query = &kTraceQuery, .data = "Trace"},
        .example = kTraceExample,
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/stop",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kStop},
        .body = BodyKind::kJson,
        .handler = StopGraph,
        .summary = "Stop the run of a thread",
        .description =
            "Asks the run to stop before its next node; with `config.cancel` it stops the node "
            "in progress, too. Succeeds also when the thread has no run.",
        .shape = {.body = &kStopBody, .data = "StopResult"},
        .example = kStopExample,
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/fix",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kFix},
        .body = BodyKind::kJson,
        .handler = FixGraph,
        .summary = "Remove tool calls without a result and results without a call",
        .description =
            "Repairs a conversation that models refuse, because a client never sent the result "
            "of a tool call.",
        .shape = {.body = &kFixBody, .data = "FixResult"},
        .example = kFixExample,
    },
};

}  // namespace agent_graph::api

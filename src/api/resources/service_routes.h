// Routes about the service itself: health and documentation. Part of the route table in
// api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/handlers.h"
#include "api/resources/service_examples.h"

namespace agent_graph::api {

inline constexpr std::array kServiceRoutes = {
#ifdef AGENT_GRAPH_ECHO
    Route{
        .method = Method::kGet,
        .pattern = "/echo",
        .access = Access::kDocumentation,
        .handler = OpenEcho,
        .summary = "Echo messages, for conformance suites",
        .transport = Transport::kSocket,
        .on_message = EchoMessage,
    },
#endif
    Route{
        .method = Method::kGet,
        .pattern = "/ping",
        .access = Access::kPublic,
        .native = true,
        .summary = "Health check",
        .description =
            "Answered by nginx's event loop without the engine: the process is alive and accepts "
            "requests.",
        .shape = {.data = "Pong"},
        .example = kPingExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/ready",
        .access = Access::kPublic,
        .native = true,
        .summary = "Readiness check: 503 names the parts that fail",
        .description = "A load balancer sends requests to a service that is ready: its state "
                       "answers, its disk "
                       "is writable, its graph is loaded and its model providers answer.",
        .shape = {.data = "Ready"},
        .example = kReadyExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/openapi.json",
        .access = Access::kDocumentation,
        .native = true,
        .summary = "OpenAPI document",
    },
    Route{
        .method = Method::kGet,
        .pattern = "/docs",
        .access = Access::kDocumentation,
        .native = true,
        .summary = "API explorer",
    },
    Route{
        .method = Method::kGet,
        .pattern = "/redoc",
        .access = Access::kDocumentation,
        .native = true,
        .summary = "API reference",
    },
    Route{
        .method = Method::kGet,
        .pattern = "/docs/{file}",
        .access = Access::kDocumentation,
        .native = true,
        .summary = "Files of the documentation pages",
    },
    Route{
        .method = Method::kGet,
        .pattern = "/ui",
        .access = Access::kDocumentation,
        .native = true,
        .summary = "Studio, the page that shows the agent",
    },
    Route{
        .method = Method::kGet,
        .pattern = "/ui/{file}",
        .access = Access::kDocumentation,
        .native = true,
        .summary = "Files of Studio",
    },
};

}  // namespace agent_graph::api

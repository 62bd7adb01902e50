// Routes of the façade for clients of the Model Context Protocol. Part of the route table in
// api/routes.cc.
#pragma once

#include <array>
#include <string_view>

#include "api/http/route.h"
#include "facades/mcp/errors.h"
#include "facades/mcp/handlers.h"
#include "facades/mcp/protected_resource.h"
#include "facades/mcp/schemas.h"
#include "facades/mcp/shapes.h"

namespace agent_graph::mcp {

inline constexpr std::string_view kPath = "/mcp";

inline constexpr std::array kMcpRoutes = {
    api::Route{
        .method = api::Method::kPost,
        .pattern = "/mcp",
        .permission = {auth::Resource::kGraph, auth::Action::kInvoke},
        .body = api::BodyKind::kJson,
        .handler = ReceiveMessage,
        .summary = "Send a message of the Model Context Protocol",
        .description =
            "The agent is a tool, and threads are resources. Clients of revision 2026-07-28 state "
            "it in every request; those of 2025-11-25 and before begin a session with "
            "`initialize`. A notification, and the response to a question, is answered with 202. "
            "A call of a tool is answered with server-sent events if the client takes them: "
            "reports of progress, and the response.",
        .shape = {.body = &kRpcBody, .data = "McpResponse"},
        .render_error = RenderError,
        .complete_headers = CompleteChallenge,
        .facade = api::Facade::kMcp,
        .example = {.request = kInitializeExample,
                    .answer = kInitializedExample,
                    .events = kEventsExample},
    },
    api::Route{
        .method = api::Method::kGet,
        .pattern = "/mcp",
        .permission = {auth::Resource::kGraph, auth::Action::kInvoke},
        .handler = ResumeStream,
        .summary = "Resume the stream of a call",
        .description =
            "With the header `Last-Event-ID` in a session: sends what follows that event, from any "
            "worker. 405 without it: the server sends nothing outside of calls.",
        .shape = {.data = "McpResponse"},
        .render_error = RenderError,
        .complete_headers = CompleteChallenge,
        .facade = api::Facade::kMcp,
        .example = {.answer = kInitializedExample, .events = kEventsExample},
    },
    api::Route{
        .method = api::Method::kDelete,
        .pattern = "/mcp",
        .permission = {auth::Resource::kGraph, auth::Action::kInvoke},
        .handler = DeleteSession,
        .summary = "End a session",
        .description = "Later requests of the session get 404, from every worker.",
        .shape = {.status = 204},
        .render_error = RenderError,
        .complete_headers = CompleteChallenge,
        .facade = api::Facade::kMcp,
    },
    api::Route{
        .method = api::Method::kGet,
        .pattern = "/mcp/.well-known/oauth-protected-resource",
        .access = api::Access::kPublic,
        .handler = ShowProtectedResource,
        .summary = "Show where clients get tokens",
        .description = "With `auth` jwt only. The challenge of a refused request has this address.",
        .shape = {.data = "McpProtectedResource"},
        .closed = ClosedWithoutTokens,
        .render_error = RenderError,
        .facade = api::Facade::kMcp,
        .example = {.answer = kResourceExample},
    },
};

}  // namespace agent_graph::mcp

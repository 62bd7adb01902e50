// Routes of the façade for AG-UI. Part of the route table in api/routes.cc.
#pragma once

#include <array>
#include <string_view>

#include "api/http/route.h"
#include "api/resources/run_shapes.h"
#include "facades/agui/agui_shapes.h"
#include "facades/agui/errors.h"
#include "facades/agui/handlers.h"
#include "facades/agui/schemas.h"

namespace agent_graph::agui {

inline constexpr std::string_view kPath = "/agui";

inline constexpr std::array kAgUiRoutes = {
    api::Route{
        .method = api::Method::kPost,
        .pattern = "/agui",
        .permission = {auth::Resource::kGraph, auth::Action::kStream},
        .hides_foreign_threads = true,
        .body = api::BodyKind::kJson,
        .handler = RunAgent,
        .summary = "Run the agent for a client of AG-UI",
        .description =
            "Answers with the events of AG-UI 1.0 as server-sent events. The thread keeps the "
            "conversation; the request's messages that it lacks are added to it. A call of one of "
            "the client's `tools` ends the run, and the next request has its result. `resume` "
            "answers the interrupts of a paused thread. A request that brings nothing new gets the "
            "thread's messages and state, and joins its run in flight or shows the end of its last "
            "one. A client that closes the connection ends the run, unless "
            "`forwardedProps.config.on_disconnect` is `continue` or there is an `Idempotency-Key`.",
        .shape = {.body = &kRunAgentInput,
                  .data = "AgUiEvent",
                  .request_headers = api::kRunRequestHeaders,
                  .response_headers = api::kRunResponseHeaders},
        .render_error = RenderError,
        .facade = api::Facade::kAgUi,
        .example = {.request = kRunExample, .events = kEventsExample},
    },
};

}  // namespace agent_graph::agui

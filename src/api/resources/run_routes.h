// Routes of runs that the state keeps. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/handlers.h"
#include "api/resources/request_shapes.h"
#include "api/resources/run_shapes.h"

namespace agent_graph::api {

inline constexpr std::array kRunRoutes = {
    Route{
        .method = Method::kPost,
        .pattern = "/v1/graph/runs",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kInvoke},
        .body = BodyKind::kJson,
        .handler = StartRun,
        .summary = "Run the graph in the background, whatever becomes of the connection",
        .shape = {.body = &kRunBody, .data = "AcceptedRun", .status = 202},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/runs",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .handler = ListRuns,
        .summary = "List a thread's runs, the newest first",
        .shape = {.query = &kRunListQuery, .data = "RunList"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/runs/{run_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .handler = GetRun,
        .summary = "Read a run's record",
        .shape = {.data = "Run"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/runs/{run_id}/wait",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .handler = WaitForRun,
        .summary = "Wait for the end of a run and return the conversation",
        .shape = {.query = &kRunWaitQuery, .data = "Invocation", .pending = "Run"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/runs/{run_id}/stream",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .handler = StreamStoredRun,
        .summary = "Stream a run from any position on, while it goes on or later",
        .shape = {.query = &kRunStreamQuery, .data = kStreamAnswer, .may_be_empty = true},
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/threads/{thread_id}/runs/{run_id}/cancel",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kGraph, auth::Action::kStop},
        .hides_foreign_threads = true,
        .body = BodyKind::kOptionalJson,
        .handler = CancelRun,
        .summary = "Stop a run, in flight or queued",
        .shape = {.body = &kConfigBody, .data = "CancelledRun"},
    },
};

}  // namespace agent_graph::api

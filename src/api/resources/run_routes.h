// Routes of runs that the state keeps. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/handlers.h"
#include "api/resources/request_shapes.h"
#include "api/resources/run_examples.h"
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
        .description = "Answers as soon as the run is stored. Any worker executes it; it goes on "
                       "when the connection closes, when its worker dies and after a reload. "
                       "`Location` is the path of its stream. With an `Idempotency-Key` a repeated "
                       "request gets the same run.",
        .shape = {.body = &kRunBody,
                  .data = "AcceptedRun",
                  .status = 202,
                  .request_headers = kRunRequestHeaders,
                  .response_headers = kRunResponseHeaders},
        .example = kStartRunExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/runs",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .reads_page = true,
        .handler = ListRuns,
        .summary = "List a thread's runs, the newest first",
        .description =
            "Runs of the last day, up to 1000, and always the latest 32. `status` selects runs in "
            "one state.",
        .shape = {.query = &kRunListQuery, .data = "RunList"},
        .example = kRunListExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/runs/{run_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .handler = GetRun,
        .summary = "Read a run's record",
        .description =
            "The current step of the run, or its end: `status`, `reason`, and the tokens "
            "and calls that it has used.",
        .shape = {.data = "Run"},
        .example = kRunExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/runs/{run_id}/wait",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .handler = WaitForRun,
        .summary = "Wait for the end of a run and return the conversation",
        .description = "Answers like `/v1/graph/invoke` when the run ends. After `timeout` seconds "
                       "it answers 202 with the record of the run.",
        .shape = {.query = &kRunWaitQuery,
                  .data = "Invocation",
                  .pending = "Run",
                  .response_headers = kRunResponseHeaders},
        .example = kRunResultExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/runs/{run_id}/stream",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .handler = StreamStoredRun,
        .summary = "Stream a run from any position on, while it goes on or later",
        .description = "Sends server-sent events, or one JSON object a line if `Accept` names "
                       "`application/x-ndjson`. A reader that lost its connection sends the last "
                       "`id` as `Last-Event-ID` or `after`, to any worker, and gets what follows. "
                       "204: it has everything.",
        .shape = {.query = &kRunStreamQuery,
                  .data = kStreamAnswer,
                  .may_be_empty = true,
                  .request_headers = kRunStreamRequestHeaders,
                  .response_headers = kRunResponseHeaders},
        .example = kRunStreamExample,
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
        .description = "The run ends as `stopped` and keeps what it has done. `cancelling` is "
                       "false if it had ended before.",
        .shape = {.body = &kConfigBody, .data = "CancelledRun"},
        .example = kCancelRunExample,
    },
};

}  // namespace agent_graph::api

// Routes of evaluation reports. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/handlers.h"

namespace agent_graph::api {

inline constexpr std::array kEvalRoutes = {
    Route{
        .method = Method::kGet,
        .pattern = "/v1/evals/runs",
        .access = Access::kPublic,
        .handler = ListEvalRuns,
        .summary = "List evaluation reports, the latest first",
        .shape = {.data = "EvalRuns"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/evals/runs/{run_id}",
        .access = Access::kPublic,
        .handler = GetEvalRun,
        .summary = "Read an evaluation report",
        .shape = {.data = "EvalRun"},
    },
};

}  // namespace agent_graph::api

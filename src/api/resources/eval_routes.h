// Routes of evaluation reports. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/eval_examples.h"
#include "api/resources/handlers.h"

namespace agent_graph::api {

inline constexpr std::array kEvalRoutes = {
    Route{
        .method = Method::kGet,
        .pattern = "/v1/evals/runs",
        .access = Access::kPublic,
        .handler = ListEvalRuns,
        .summary = "List evaluation reports, the latest first",
        .description =
            "The reports that evaluation programs have written to `evaluation.output_dir`. Needs "
            "no token.",
        .shape = {.data = "EvalRuns"},
        .example = kEvalRunsExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/evals/runs/{run_id}",
        .access = Access::kPublic,
        .handler = GetEvalRun,
        .summary = "Read an evaluation report",
        .description =
            "One report with its cases and the comparison with the report before it. `run_id` is "
            "an `id` of `GET /v1/evals/runs`.",
        .shape = {.data = "EvalRun"},
        .example = kEvalRunExample,
    },
};

}  // namespace agent_graph::api

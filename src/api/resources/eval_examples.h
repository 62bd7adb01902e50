// Examples of the routes of evaluations, for the OpenAPI document; eval_routes.h names them. A test
// sends each of them.
#pragma once

#include "api/http/route.h"

namespace agent_graph::api {

inline constexpr RouteExample kEvalRunsExample{.answer = R"json({
  "runs": [
    {
      "id": "support_20260613_090000", "name": "Support basics", "run": "#2",
      "rate": 100.0, "status": "fail", "cases": 3, "ago": "2d ago"
    }
  ]
})json"};

inline constexpr RouteExample kEvalRunExample{.answer = R"json({
  "title": "Support basics, run #2",
  "sub": "support, gpt-4o-mini, 2026-06-13 09:00, 12.6s", "rate": 100.0,
  "status": "fail", "threshold": 75,
  "stats": [
    {"label": "cases", "value": "3"}, {"label": "passed", "value": "2", "tone": "ok"},
    {"label": "failed", "value": "1", "tone": "bad"}
  ],
  "cases": [
    {
      "id": "greet", "name": "greets the customer", "type": "eval", "score": 0.97,
      "status": "pass", "lat": "2.1s", "cost": "650 tok", "input": "hello",
      "expected": "Hello!", "actual": "Hello! How can I help?",
      "rubric": [
        {"key": "response_match", "value": 0.95, "tone": "accent"},
        {"key": "tool_trajectory", "value": 1.0, "tone": "accent"},
        {"key": "weighted score", "value": 0.97, "tone": "accent"}
      ],
      "conversation": null
    }
  ],
  "regression": null
})json"};

}  // namespace agent_graph::api

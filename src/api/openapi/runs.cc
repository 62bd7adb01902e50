#include "api/openapi/components.h"

namespace agent_graph::api {

const std::string_view kRunSchemas = R"json({
  "Run": {
    "type": "object",
    "properties": {
      "run_id": {"type": "string"},
      "thread_id": {"type": "string"},
      "status": {"enum": ["queued", "running", "interrupted", "done", "error", "stopped"]},
      "reason": {
        "type": ["string", "null"],
        "description": "Why it ended so, such as `worker_lost`; null: no special reason"
      },
      "attempt": {
        "type": "integer",
        "description": "1 for the first; one more each time that another worker continues the run; 0: not started"
      },
      "resumes": {
        "type": ["string", "null"],
        "description": "The run that had paused the thread"
      },
      "graph_hash": {"type": ["string", "null"]},
      "created_at": {"type": ["string", "null"]},
      "started_at": {"type": ["string", "null"]},
      "finished_at": {"type": ["string", "null"]},
      "usage": {"type": "object", "description": "Tokens and calls of all attempts; `cost_usd` if the models have prices"},
      "current_node": {"type": ["string", "null"]},
      "step": {"type": "integer"}
    },
    "required": ["run_id", "thread_id", "status", "attempt", "created_at", "usage", "step"]
  },
  "AcceptedRun": {
    "type": "object",
    "properties": {
      "run_id": {"type": "string"},
      "thread_id": {"type": "string"},
      "status": {"enum": ["queued", "running", "interrupted", "done", "error", "stopped"]},
      "attempt": {"type": "integer"}
    },
    "required": ["run_id", "thread_id", "status", "attempt"]
  },
  "RunList": {
    "type": "object",
    "properties": {
      "runs": {"type": "array", "items": {"$ref": "#/components/schemas/Run"}},
      "next_cursor": {"type": ["string", "null"], "description": "null on the last page"}
    },
    "required": ["runs", "next_cursor"]
  },
  "CancelledRun": {
    "type": "object",
    "properties": {
      "cancelling": {
        "type": "boolean",
        "description": "True if the run is about to end; false if it has ended"
      },
      "run": {"$ref": "#/components/schemas/Run"}
    },
    "required": ["cancelling", "run"]
  }
})json";

}  // namespace agent_graph::api

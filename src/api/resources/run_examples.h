// Examples of the routes of stored runs, for the OpenAPI document; run_routes.h names them. A test
// sends each of them.
#pragma once

#include "api/http/route.h"

namespace agent_graph::api {

inline constexpr RouteExample kStartRunExample{.request = R"json({
  "messages": [{"role": "user", "content": "What time is it in Tokyo?"}],
  "config": {"thread_id": "tour"}
})json",
                                               .answer = R"json({
  "run_id": "0b1c9c7e-6a1f-4ed8-9a53-9f6a3a0f5c2d", "thread_id": "tour", "status": "running",
  "attempt": 1
})json"};

inline constexpr RouteExample kRunListExample{.answer = R"json({
  "runs": [
    {
      "run_id": "0b1c9c7e-6a1f-4ed8-9a53-9f6a3a0f5c2d", "thread_id": "tour", "status": "done",
      "reason": null, "attempt": 1, "resumes": null,
      "graph_hash": "3d362b78d70888f5229651b396d5dd71",
      "created_at": "2026-11-26T13:20:12.912409Z", "started_at": "2026-11-26T13:20:12.912568Z",
      "finished_at": "2026-11-26T13:20:13.200129Z",
      "usage": {"input_tokens": 13, "output_tokens": 7, "model_calls": 1, "tool_calls": 0},
      "current_node": "END", "step": 1
    }
  ],
  "next_cursor": null
})json"};

inline constexpr RouteExample kRunExample{.answer = R"json({
  "run_id": "0b1c9c7e-6a1f-4ed8-9a53-9f6a3a0f5c2d", "thread_id": "tour", "status": "done",
  "reason": null, "attempt": 1, "resumes": null, "graph_hash": "3d362b78d70888f5229651b396d5dd71",
  "created_at": "2026-11-26T13:20:12.912409Z", "started_at": "2026-11-26T13:20:12.912568Z",
  "finished_at": "2026-11-26T13:20:13.200129Z",
  "usage": {"input_tokens": 13, "output_tokens": 7, "model_calls": 1, "tool_calls": 0},
  "current_node": "END", "step": 1
})json"};

inline constexpr RouteExample kRunResultExample{.answer = R"json({
  "messages": [
    {
      "message_id": "93a245aa-2c40-4de1-9179-874138d06a3c", "role": "assistant",
      "content": [{"type": "text", "text": "It is 21:49 in Tokyo."}],
      "timestamp": 1795466970.946, "metadata": {"model": "demo", "stop_reason": "stop"}
    }
  ],
  "state": null, "context": null, "summary": null,
  "meta": {
    "is_new_thread": false, "thread_id": "tour", "thread_name": null,
    "run_id": "0b1c9c7e-6a1f-4ed8-9a53-9f6a3a0f5c2d", "outcome": "done"
  }
})json"};

inline constexpr RouteExample kRunStreamExample{
    .answer = R"json({
  "event": "message",
  "message": {
    "message_id": "93a245aa-2c40-4de1-9179-874138d06a3c", "role": "assistant",
    "content": [{"type": "text", "text": "It is 21:49 in Tokyo."}], "timestamp": 1795466970.946
  },
  "state": null, "data": null, "thread_id": "tour",
  "run_id": "0b1c9c7e-6a1f-4ed8-9a53-9f6a3a0f5c2d",
  "metadata": {
    "is_new_thread": false, "thread_id": "tour", "node": "MAIN", "step": 1,
    "cursor": "00000000000010000000000001000000000000000000000000000000000000003"
  },
  "timestamp": 1795466970.946
})json",
    .events = R"events(id: 00000000000010000000000001000000000000000000000000000000000000003
event: message
data: {"event": "message", "message": {"message_id": "93a245aa-2c40-4de1-9179-874138d06a3c", "role": "assistant", "content": [{"type": "text", "text": "It is 21:49 in Tokyo."}], "timestamp": 1795466970.946}, "state": null, "data": null, "thread_id": "tour", "run_id": "0b1c9c7e-6a1f-4ed8-9a53-9f6a3a0f5c2d", "metadata": {"is_new_thread": false, "thread_id": "tour", "node": "MAIN", "step": 1, "cursor": "00000000000010000000000001000000000000000000000000000000000000003"}, "timestamp": 1795466970.946}

)events"};

inline constexpr RouteExample kCancelRunExample{.request = "{}", .answer = R"json({
  "cancelling": false,
  "run": {
    "run_id": "0b1c9c7e-6a1f-4ed8-9a53-9f6a3a0f5c2d", "thread_id": "tour", "status": "done",
    "reason": null, "attempt": 1, "resumes": null,
    "graph_hash": "3d362b78d70888f5229651b396d5dd71",
    "created_at": "2026-11-26T13:20:12.912409Z", "started_at": "2026-11-26T13:20:12.912568Z",
    "finished_at": "2026-11-26T13:20:13.200129Z",
    "usage": {"input_tokens": 13, "output_tokens": 7, "model_calls": 1, "tool_calls": 0},
    "current_node": "END", "step": 1
  }
})json"};

}  // namespace agent_graph::api

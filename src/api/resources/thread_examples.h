// Examples of the routes of threads, for the OpenAPI document; thread_routes.h names them. A test
// sends each of them.
#pragma once

#include "api/http/route.h"

namespace agent_graph::api {

inline constexpr RouteExample kListThreadsExample{.answer = R"json({
  "threads": [
    {
      "thread_id": "tour", "thread_name": null, "user_id": null, "metadata": {},
      "created_at": "2026-11-23T20:49:30.867895Z",
      "updated_at": "2026-11-23T20:49:30.946012Z",
      "run_id": "398fb5cc-c021-4b0e-a812-1e2861882534"
    }
  ],
  "next_cursor": null
})json"};

inline constexpr RouteExample kGetThreadExample{.answer = R"json({
  "thread_data": {
    "thread_id": "tour", "thread_name": null, "user_id": null, "metadata": {},
    "created_at": "2026-11-23T20:49:30.867895Z",
    "updated_at": "2026-11-23T20:49:30.946012Z",
    "run_id": "398fb5cc-c021-4b0e-a812-1e2861882534"
  }
})json"};

inline constexpr RouteExample kDeleteThreadExample{
    .request = R"json({})json",
    .answer = R"json({"success": true, "message": "thread deleted", "data": true})json"};

inline constexpr RouteExample kGetStateExample{.answer = R"json({
  "state": {
    "context": [
      {
        "message_id": "tour-1", "role": "user",
        "content": [{"type": "text", "text": "What time is it in Tokyo?"}],
        "timestamp": 1795466970.121
      },
      {
        "message_id": "93a245aa-2c40-4de1-9179-874138d06a3c", "role": "assistant",
        "content": [{"type": "text", "text": "It is 21:49 in Tokyo."}],
        "timestamp": 1795466970.946,
        "metadata": {"model": "demo", "stop_reason": "stop"},
        "usages": {"completion_tokens": 8, "prompt_tokens": 14, "total_tokens": 22}
      }
    ],
    "context_summary": null,
    "execution_meta": {
      "current_node": "END", "step": 1, "is_running": false, "is_interrupted": false,
      "is_stopped_requested": false, "queued_runs": []
    }
  }
})json"};

inline constexpr RouteExample kPutStateExample{
    .request = R"json({"state": {"customer": "Ada"}})json", .answer = R"json({
  "updated": true,
  "state": {
    "context": [
      {
        "message_id": "tour-1", "role": "user",
        "content": [{"type": "text", "text": "What time is it in Tokyo?"}],
        "timestamp": 1795466970.121
      },
      {
        "message_id": "93a245aa-2c40-4de1-9179-874138d06a3c", "role": "assistant",
        "content": [{"type": "text", "text": "It is 21:49 in Tokyo."}],
        "timestamp": 1795466970.946,
        "metadata": {"model": "demo", "stop_reason": "stop"},
        "usages": {"completion_tokens": 8, "prompt_tokens": 14, "total_tokens": 22}
      }
    ],
    "context_summary": null,
    "execution_meta": {
      "current_node": "END", "step": 1, "is_running": false, "is_interrupted": false,
      "is_stopped_requested": false, "queued_runs": []
    },
    "customer": "Ada"
  }
})json"};

inline constexpr RouteExample kDeleteStateExample{
    .request = R"json({})json",
    .answer =
        R"json({"deleted": true, "success": true, "message": "thread state cleared", "data": true})json"};

inline constexpr RouteExample kListMessagesExample{.answer = R"json({
  "messages": [
    {
      "message_id": "tour-1", "role": "user",
      "content": [{"type": "text", "text": "What time is it in Tokyo?"}],
      "timestamp": 1795466970.121
    },
    {
      "message_id": "93a245aa-2c40-4de1-9179-874138d06a3c", "role": "assistant",
      "content": [{"type": "text", "text": "It is 21:49 in Tokyo."}],
      "timestamp": 1795466970.946, "metadata": {"model": "demo", "stop_reason": "stop"},
      "usages": {"completion_tokens": 8, "prompt_tokens": 14, "total_tokens": 22}
    }
  ]
})json"};

inline constexpr RouteExample kAddMessagesExample{
    .request = R"json({
  "messages": [{"role": "user", "content": "The order number is 17.", "message_id": "tour-note"}]
})json",
    .answer = R"json({"success": true, "message": "messages added", "data": true})json"};

inline constexpr RouteExample kGetMessageExample{.answer = R"json({
  "message_id": "tour-1", "role": "user",
  "content": [{"type": "text", "text": "What time is it in Tokyo?"}],
  "timestamp": 1795466970.121, "delta": false, "tools_calls": null, "reasoning": null,
  "metadata": {}, "usages": null, "raw": null
})json"};

inline constexpr RouteExample kDeleteMessageExample{
    .request = R"json({})json",
    .answer = R"json({"success": true, "message": "message deleted", "data": true})json"};

}  // namespace agent_graph::api

// Examples of the routes of the graph and its runs, for the OpenAPI document; graph_routes.h names
// them. A test sends each of them.
#pragma once

#include "api/http/route.h"

namespace agent_graph::api {

inline constexpr RouteExample kInvokeExample{.request = R"json({
  "messages": [{"role": "user", "content": "What time is it in Tokyo?", "message_id": "tour-1"}],
  "config": {"thread_id": "tour"}
})json",
                                             .answer = R"json({
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
  ],
  "state": null, "context": null, "summary": null,
  "meta": {
    "is_new_thread": true, "thread_id": "tour", "thread_name": null,
    "run_id": "398fb5cc-c021-4b0e-a812-1e2861882534", "outcome": "done"
  }
})json"};

inline constexpr RouteExample kStreamExample{.request = R"json({
  "messages": [{"role": "user", "content": "What time is it in Tokyo?"}],
  "config": {"thread_id": "tour"}
})json",
                                             .answer = R"json({
  "event": "message",
  "message": {
    "message_id": "93a245aa-2c40-4de1-9179-874138d06a3c", "role": "assistant",
    "content": [{"type": "text", "text": "It is"}], "delta": true
  },
  "state": null, "data": null, "thread_id": "tour",
  "run_id": "398fb5cc-c021-4b0e-a812-1e2861882534",
  "metadata": {"is_new_thread": false, "node": "MAIN", "step": 1},
  "timestamp": 1795466970.942
})json"};

inline constexpr RouteExample kGraphExample{.answer = R"json({
  "info": {
    "node_count": 4, "edge_count": 4, "is_realtime": false, "checkpointer": true,
    "checkpointer_type": "leveldb", "publisher": false, "store": true,
    "interrupt_before": [], "interrupt_after": [], "context_type": null,
    "id_generator": "UUIDGenerator", "id_type": "string", "state_type": "AgentState",
    "state_fields": ["context", "context_summary", "execution_meta"]
  },
  "nodes": [
    {"id": "__start__", "name": "__start__"}, {"id": "MAIN", "name": "MAIN"},
    {"id": "TOOL", "name": "TOOL"}, {"id": "__end__", "name": "__end__"}
  ],
  "edges": [
    {"id": "__start__->MAIN", "source": "__start__", "target": "MAIN"},
    {"id": "MAIN->TOOL", "source": "MAIN", "target": "TOOL"},
    {"id": "MAIN->__end__", "source": "MAIN", "target": "__end__"},
    {"id": "TOOL->MAIN", "source": "TOOL", "target": "MAIN"}
  ]
})json"};

inline constexpr RouteExample kSocketExample{.request = R"json({
  "messages": [{"role": "user", "content": "What time is it in Tokyo?"}],
  "config": {"thread_id": "tour"}
})json"};

inline constexpr RouteExample kLiveExample{
    .request = R"json({"thread_id": "phone", "modalities": ["AUDIO"]})json"};

inline constexpr RouteExample kToolsExample{.answer = R"json({
  "node_count": 1, "tool_count": 1,
  "nodes": [
    {
      "node_name": "TOOL", "tool_count": 1,
      "tools": [
        {
          "name": "current_time",
          "description": "The current date and time, in ISO 8601.", "source": "local",
          "tags": [],
          "parameters": {
            "type": "object",
            "properties": {
              "utc_offset_minutes": {"type": "integer", "description": "distance from UTC, 0 by default"}
            }
          }
        }
      ]
    }
  ]
})json"};

inline constexpr RouteExample kSetupExample{.request = R"json({
  "tools": [
    {
      "node_name": "TOOL", "name": "get_location",
      "description": "The place where the user is",
      "parameters": {"type": "object", "properties": {}}
    }
  ]
})json",
                                            .answer = R"json({
  "success": true, "status": "success", "message": "1 remote tool registered",
  "details": "1 remote tool registered", "registered_tools": 1
})json"};

inline constexpr RouteExample kStateSchemaExample{.answer = R"json({
  "title": "AgentState", "type": "object",
  "description": "State of a conversation thread.",
  "properties": {
    "context": {"title": "Context", "type": "array", "items": {"type": "object"}},
    "context_summary": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}
  }
})json"};

inline constexpr RouteExample kTraceExample{.answer = R"json({
  "thread_id": "tour", "run_count": 1,
  "run_ids": ["398fb5cc-c021-4b0e-a812-1e2861882534"],
  "run": {
    "run_id": "398fb5cc-c021-4b0e-a812-1e2861882534", "thread_id": "tour",
    "status": "done", "started_at": 1795466970.139, "finished_at": 1795466970.143,
    "duration_ms": 3.604,
    "spans": [
      {
        "id": "root", "name": "graph", "kind": "root", "parent": null, "start_ms": 0.0,
        "duration_ms": 3.604
      },
      {
        "id": "s1", "name": "node: MAIN", "kind": "node", "parent": "root",
        "start_ms": 3.417, "duration_ms": 0.185
      },
      {
        "id": "s2", "name": "llm.generate", "kind": "llm", "parent": "s1",
        "start_ms": 3.595, "duration_ms": 0.0
      }
    ],
    "events": [
      {"id": "e3", "type": "result", "node": "", "offset_ms": 3.604, "summary": "done"},
      {
        "id": "e2", "type": "updates", "node": "MAIN", "offset_ms": 3.602,
        "summary": "step 1"
      }
    ],
    "usage": {
      "prompt_tokens": 28, "completion_tokens": 8, "reasoning_tokens": 0,
      "total_tokens": 36
    },
    "llm_calls": 1, "tool_calls": 0, "iterations": 1
  }
})json"};

inline constexpr RouteExample kStopExample{.request = R"json({"thread_id": "tour"})json",
                                           .answer = R"json({
  "thread_id": "tour", "status": "stopped", "success": true, "ok": true,
  "running": false, "message": "no run was in flight", "run_id": null,
  "stopped_at": null, "reason": "not-running"
})json"};

inline constexpr RouteExample kFixExample{.request = R"json({"thread_id": "tour"})json",
                                          .answer = R"json({
  "success": true, "message": "no message needed to be removed", "removed_count": 0,
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

}  // namespace agent_graph::api

// Examples of the routes of memories, for the OpenAPI document; store_routes.h names them. A test
// sends each of them.
#pragma once

#include "api/http/route.h"

namespace agent_graph::api {

inline constexpr RouteExample kStoreMemoryExample{
    .request = R"json({
  "content": "The user drinks green tea.", "category": "taste",
  "metadata": {"source": "chat"}
})json",
    .answer = R"json({"memory_id": "1bc0e8a7253a4aeb4cb06d9cff9696a5"})json"};

inline constexpr RouteExample kSearchMemoriesExample{
    .request = R"json({"query": "which tea?", "limit": 3})json", .answer = R"json({
  "results": [
    {
      "id": "1bc0e8a7253a4aeb4cb06d9cff9696a5",
      "memory_id": "1bc0e8a7253a4aeb4cb06d9cff9696a5",
      "content": "The user drinks green tea.", "score": 0.0587,
      "memory_type": "episodic", "category": "taste",
      "metadata": {"source": "chat", "category": "taste"}, "user_id": null,
      "agent_id": null, "thread_id": null, "timestamp": "2026-11-23T20:49:30.867895Z"
    }
  ]
})json"};

inline constexpr RouteExample kListMemoriesExample{.request = R"json({"limit": 10})json",
                                                   .answer = R"json({
  "memories": [
    {
      "id": "1bc0e8a7253a4aeb4cb06d9cff9696a5",
      "memory_id": "1bc0e8a7253a4aeb4cb06d9cff9696a5",
      "content": "The user drinks green tea.", "score": null, "memory_type": "episodic",
      "category": "taste", "metadata": {"source": "chat", "category": "taste"},
      "user_id": null, "agent_id": null, "thread_id": null,
      "timestamp": "2026-11-23T20:49:30.867895Z"
    }
  ],
  "next_cursor": null
})json"};

inline constexpr RouteExample kForgetMemoriesExample{
    .request = R"json({"category": "taste"})json",
    .answer = R"json({"success": true, "data": {"deleted": 1}})json"};

inline constexpr RouteExample kGetMemoryExample{.request = R"json({})json", .answer = R"json({
  "memory": {
    "id": "1bc0e8a7253a4aeb4cb06d9cff9696a5",
    "memory_id": "1bc0e8a7253a4aeb4cb06d9cff9696a5",
    "content": "The user drinks green tea.", "score": null, "memory_type": "episodic",
    "category": "general", "metadata": {"category": "general"}, "user_id": null,
    "agent_id": null, "thread_id": null, "timestamp": "2026-11-23T20:49:30.867895Z"
  }
})json"};

inline constexpr RouteExample kUpdateMemoryExample{
    .request = R"json({"content": "The user drinks black tea."})json",
    .answer = R"json({"success": true, "data": true})json"};

inline constexpr RouteExample kDeleteMemoryExample{
    .request = R"json({})json", .answer = R"json({"success": true, "data": true})json"};

}  // namespace agent_graph::api

// Routes of the memory store. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/handlers.h"
#include "api/resources/memory_shapes.h"

namespace agent_graph::api {

inline constexpr std::array kStoreRoutes = {
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kWrite},
        .body = BodyKind::kJson,
        .handler = StoreMemory,
        .summary = "Store a memory",
        .shape = {.body = &kStoreMemoryBody, .data = "MemoryStored"},
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/search",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kRead},
        .body = BodyKind::kJson,
        .handler = SearchMemories,
        .summary = "Find memories by their content",
        .shape = {.body = &kSearchMemoriesBody, .data = "MemoryResults"},
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories/list",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kRead},
        .body = BodyKind::kOptionalJson,
        .handler = ListMemories,
        .summary = "List memories, the newest first",
        .shape = {.body = &kListMemoriesBody, .data = "MemoryList"},
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories/forget",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kDelete},
        .body = BodyKind::kOptionalJson,
        .handler = ForgetMemories,
        .summary = "Delete the memories that match",
        .shape = {.body = &kForgetMemoriesBody, .data = "MemoryDone"},
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories/{memory_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kRead},
        .body = BodyKind::kOptionalJson,
        .handler = GetMemory,
        .summary = "Read one memory",
        .shape = {.body = &kMemoryBody, .data = "MemoryFound"},
    },
    Route{
        .method = Method::kPut,
        .pattern = "/v1/store/memories/{memory_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kWrite},
        .body = BodyKind::kJson,
        .handler = UpdateMemory,
        .summary = "Change a memory",
        .shape = {.body = &kUpdateMemoryBody, .data = "MemoryDone"},
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/store/memories/{memory_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kDelete},
        .body = BodyKind::kOptionalJson,
        .handler = DeleteMemory,
        .summary = "Delete one memory",
        .shape = {.body = &kMemoryBody, .data = "MemoryDone"},
    },
};

}  // namespace agent_graph::api

// Routes of the memory store. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/handlers.h"
#include "api/resources/memory_shapes.h"
#include "api/resources/store_examples.h"

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
        .description =
            "Keeps a text, or a whole message, for later conversations of the same user. Needs a "
            "`store` in service.json.",
        .shape = {.body = &kStoreMemoryBody, .data = "MemoryStored"},
        .example = kStoreMemoryExample,
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/search",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kRead},
        .body = BodyKind::kJson,
        .handler = SearchMemories,
        .summary = "Find memories by their content",
        .description = "Compares the query with the memories of the user, by their meaning unless "
                       "`retrieval_strategy` says otherwise. The best results come first.",
        .shape = {.body = &kSearchMemoriesBody, .data = "MemoryResults"},
        .example = kSearchMemoriesExample,
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories/list",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kRead},
        .body = BodyKind::kOptionalJson,
        .reads_page = true,
        .handler = ListMemories,
        .summary = "List memories, the newest first",
        .description =
            "All memories of the user. Repeat the request with `cursor` = `next_cursor` until "
            "there is none.",
        .shape = {.body = &kListMemoriesBody, .data = "MemoryList"},
        .example = kListMemoriesExample,
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories/forget",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kDelete},
        .body = BodyKind::kOptionalJson,
        .handler = ForgetMemories,
        .summary = "Delete the memories that match",
        .description =
            "Deletes all memories of the user that have this type, this category and these "
            "values. Without any of them it deletes all.",
        .shape = {.body = &kForgetMemoriesBody, .data = "MemoryDone"},
        .example = kForgetMemoriesExample,
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/store/memories/{memory_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kRead},
        .body = BodyKind::kOptionalJson,
        .reads_page = true,
        .handler = GetMemory,
        .summary = "Read one memory",
        .description =
            "Reads a memory by the `memory_id` that `POST /v1/store/memories` has returned.",
        .shape = {.body = &kMemoryBody, .data = "MemoryFound"},
        .example = kGetMemoryExample,
    },
    Route{
        .method = Method::kPut,
        .pattern = "/v1/store/memories/{memory_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kWrite},
        .body = BodyKind::kJson,
        .handler = UpdateMemory,
        .summary = "Change a memory",
        .description = "Replaces the content and merges the metadata. `memory_id` comes from `POST "
                       "/v1/store/memories`.",
        .shape = {.body = &kUpdateMemoryBody, .data = "MemoryDone"},
        .example = kUpdateMemoryExample,
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/store/memories/{memory_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kStore, auth::Action::kDelete},
        .body = BodyKind::kOptionalJson,
        .handler = DeleteMemory,
        .summary = "Delete one memory",
        .description =
            "Deletes the memory with the `memory_id` that `POST /v1/store/memories` has returned.",
        .shape = {.body = &kMemoryBody, .data = "MemoryDone"},
        .example = kDeleteMemoryExample,
    },
};

}  // namespace agent_graph::api

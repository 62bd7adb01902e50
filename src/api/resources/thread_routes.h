// Routes of conversation threads. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/handlers.h"
#include "api/resources/request_shapes.h"

namespace agent_graph::api {

inline constexpr std::array kThreadRoutes = {
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .handler = ListThreads,
        .summary = "List threads, the latest first",
        .shape = {.query = &kPageQuery, .data = "ThreadList"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .handler = GetThread,
        .summary = "Read a thread's record",
        .shape = {.data = "Thread"},
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/threads/{thread_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kDelete},
        .body = BodyKind::kJson,
        .handler = DeleteThread,
        .summary = "Delete a thread and all its data",
        .shape = {.body = &kConfigBody, .data = "Done"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/state",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .handler = GetThreadState,
        .summary = "Read a thread's state",
        .shape = {.data = "ThreadState"},
    },
    Route{
        .method = Method::kPut,
        .pattern = "/v1/threads/{thread_id}/state",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kWrite},
        .creates_thread = true,
        .body = BodyKind::kJson,
        .handler = PutThreadState,
        .summary = "Merge fields into a thread's state",
        .shape = {.body = &kStateBody, .data = "StateUpdated"},
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/threads/{thread_id}/state",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kDelete},
        .body = BodyKind::kOptionalJson,
        .handler = DeleteThreadState,
        .summary = "Clear a thread's state",
        .shape = {.body = &kConfigBody, .data = "StateCleared"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/messages",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .handler = ListMessages,
        .summary = "List a thread's messages, the oldest first",
        .shape = {.query = &kPageQuery, .data = "MessageList"},
    },
    Route{
        .method = Method::kPost,
        .pattern = "/v1/threads/{thread_id}/messages",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kWrite},
        .creates_thread = true,
        .body = BodyKind::kJson,
        .handler = AddMessages,
        .summary = "Append messages to a thread",
        .shape = {.body = &kMessagesBody, .data = "Done"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/messages/{message_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .handler = GetMessage,
        .summary = "Read one message",
        .shape = {.data = "Message"},
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/threads/{thread_id}/messages/{message_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kDelete},
        .body = BodyKind::kOptionalJson,
        .handler = DeleteMessage,
        .summary = "Delete one message",
        .shape = {.body = &kConfigBody, .data = "Done"},
    },
};

}  // namespace agent_graph::api

// Routes of conversation threads. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/handlers.h"
#include "api/resources/request_shapes.h"
#include "api/resources/thread_examples.h"

namespace agent_graph::api {

inline constexpr std::array kThreadRoutes = {
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .reads_page = true,
        .handler = ListThreads,
        .summary = "List threads, the latest first",
        .description = "Only threads that the caller may see. Repeat the request with `cursor` = "
                       "`next_cursor` until there is none. `metadata.<name>=<value>` selects the "
                       "threads whose metadata has this value, for each name that "
                       "`threads.indexed_metadata` of service.json declares.",
        .shape = {.query = &kPageQuery, .data = "ThreadList", .filters_metadata = true},
        .example = kListThreadsExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .reads_page = true,
        .handler = GetThread,
        .summary = "Read a thread's record",
        .description = "Name, owner, metadata and times of a thread, without its messages.",
        .shape = {.data = "Thread"},
        .example = kGetThreadExample,
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/threads/{thread_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kDelete},
        .body = BodyKind::kJson,
        .handler = DeleteThread,
        .summary = "Delete a thread and all its data",
        .description =
            "Removes messages, state and traces for good. A run in progress ends. The body is "
            "required; `{}` is enough.",
        .shape = {.body = &kConfigBody, .data = "Done"},
        .example = kDeleteThreadExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/state",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .reads_page = true,
        .handler = GetThreadState,
        .summary = "Read a thread's state",
        .description =
            "The context that models see, the summary of what has left it, the graph's own "
            "fields, and the progress of a run.",
        .shape = {.data = "ThreadState"},
        .example = kGetStateExample,
    },
    Route{
        .method = Method::kPut,
        .pattern = "/v1/threads/{thread_id}/state",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kWrite},
        .creates_thread = true,
        .body = BodyKind::kJson,
        .reads_page = true,
        .handler = PutThreadState,
        .summary = "Merge fields into a thread's state",
        .description =
            "Objects are merged, other values replaced, null clears a field. Makes the thread if "
            "there is none.",
        .shape = {.body = &kStateBody, .data = "StateUpdated"},
        .example = kPutStateExample,
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/threads/{thread_id}/state",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kDelete},
        .body = BodyKind::kOptionalJson,
        .handler = DeleteThreadState,
        .summary = "Clear a thread's state",
        .description =
            "Clears context, summary and the graph's own fields. The history of messages stays.",
        .shape = {.body = &kConfigBody, .data = "StateCleared"},
        .example = kDeleteStateExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/messages",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .reads_page = true,
        .handler = ListMessages,
        .summary = "List a thread's messages, the oldest first",
        .description =
            "The whole history, also of messages that have left the context. Repeat the request "
            "with `cursor` = `next_cursor` until there is none.",
        .shape = {.query = &kPageQuery, .data = "MessageList"},
        .example = kListMessagesExample,
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
        .description =
            "Adds messages without a run. A message whose `message_id` the thread has already is "
            "not added again. Makes the thread if there is none.",
        .shape = {.body = &kMessagesBody, .data = "Done"},
        .example = kAddMessagesExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/threads/{thread_id}/messages/{message_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .reads_page = true,
        .handler = GetMessage,
        .summary = "Read one message",
        .description = "A message of the thread by the id that the client or the service gave it.",
        .shape = {.data = "Message"},
        .example = kGetMessageExample,
    },
    Route{
        .method = Method::kDelete,
        .pattern = "/v1/threads/{thread_id}/messages/{message_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kCheckpointer, auth::Action::kDelete},
        .body = BodyKind::kOptionalJson,
        .handler = DeleteMessage,
        .summary = "Delete one message",
        .description = "Removes the message from the history and from the context.",
        .shape = {.body = &kConfigBody, .data = "Done"},
        .example = kDeleteMessageExample,
    },
};

}  // namespace agent_graph::api

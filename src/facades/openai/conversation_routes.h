// Routes of the Conversations API. Part of the table in openai_routes.h.
#pragma once

#include <array>
#include <string_view>

#include "api/http/route.h"
#include "facades/openai/conversation_shapes.h"
#include "facades/openai/errors.h"
#include "facades/openai/handlers.h"
#include "facades/openai/response_routes.h"
#include "facades/openai/response_shapes.h"

namespace agent_graph::openai {

inline constexpr std::string_view kConversationRequestExample =
    R"({"metadata":{"topic":"rain"},"items":[{"role":"user","content":"hello"}]})";

inline constexpr std::string_view kConversationChangeExample = R"({"metadata":{"topic":"rain"}})";

inline constexpr std::string_view kConversationExample =
    R"({"id":"5f0e8c2a-1b57-4f0e-9a51-0d6a4a0f1c11","object":"conversation",
      "created_at":1764190000,"metadata":{"topic":"rain"}})";

inline constexpr std::string_view kDeletedConversationExample =
    R"({"id":"5f0e8c2a-1b57-4f0e-9a51-0d6a4a0f1c11","object":"conversation.deleted",
      "deleted":true})";

inline constexpr std::string_view kNewItemsExample =
    R"({"items":[{"type":"message","role":"user","content":"hello"}]})";

inline constexpr std::string_view kItemExample =
    R"({"id":"msg_dG91cgBtMAA","type":"message","status":"completed","role":"user",
      "content":[{"type":"input_text","text":"hello"}]})";

inline constexpr std::array kConversationRoutes = {
    api::Route{
        .method = api::Method::kPost,
        .pattern = "/openai/v1/conversations",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kWrite},
        .body = api::BodyKind::kOptionalJson,
        .handler = CreateConversation,
        .summary = "Create a conversation",
        .description = "A conversation is a thread: its id can be the `conversation` of a "
                       "response. Without `items` the thread is empty.",
        .shape = {.body = &kConversationBody, .data = "OpenAiConversation"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.request = kConversationRequestExample, .answer = kConversationExample},
    },
    api::Route{
        .method = api::Method::kGet,
        .pattern = "/openai/v1/conversations/{conversation_id}",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .reads_page = true,
        .handler = GetConversation,
        .summary = "Show a conversation",
        .description =
            "Its metadata and when it was created. The id is that of any thread of the caller.",
        .shape = {.data = "OpenAiConversation"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kConversationExample},
    },
    api::Route{
        .method = api::Method::kPost,
        .pattern = "/openai/v1/conversations/{conversation_id}",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kWrite},
        .hides_foreign_threads = true,
        .body = api::BodyKind::kJson,
        .reads_page = true,
        .handler = UpdateConversation,
        .summary = "Replace the metadata of a conversation",
        .description = "Texts that the request does not name are removed, with null all of them. "
                       "Other values in the metadata of the thread stay.",
        .shape = {.body = &kConversationChangeBody, .data = "OpenAiConversation"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.request = kConversationChangeExample, .answer = kConversationExample},
    },
    api::Route{
        .method = api::Method::kDelete,
        .pattern = "/openai/v1/conversations/{conversation_id}",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kDelete},
        .hides_foreign_threads = true,
        .handler = DeleteConversation,
        .summary = "Delete a conversation",
        .description =
            "Removes the thread with its items and responses for good. A run in progress ends.",
        .shape = {.data = "OpenAiDeletedConversation"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kDeletedConversationExample},
    },
    api::Route{
        .method = api::Method::kPost,
        .pattern = "/openai/v1/conversations/{conversation_id}/items",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kWrite},
        .hides_foreign_threads = true,
        .body = api::BodyKind::kJson,
        .handler = CreateItems,
        .summary = "Add items to a conversation",
        .description = "Adds up to 20 items behind the others, without a run. A run in progress "
                       "does not see them.",
        .shape = {.body = &kNewItemsBody, .data = "OpenAiItemList"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.request = kNewItemsExample, .answer = kItemListExample},
    },
    api::Route{
        .method = api::Method::kGet,
        .pattern = "/openai/v1/conversations/{conversation_id}/items",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .reads_page = true,
        .handler = ListItems,
        .summary = "List the items of a conversation",
        .description = "All messages of the thread as items, the newest first, unless `order` is "
                       "`asc`. `after` is the id of the last item of the page before.",
        .shape = {.query = &kInputItemsQuery, .data = "OpenAiItemList"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kItemListExample},
    },
    api::Route{
        .method = api::Method::kGet,
        .pattern = "/openai/v1/conversations/{conversation_id}/items/{item_id}",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .reads_page = true,
        .handler = GetItem,
        .summary = "Show an item of a conversation",
        .description = "Also one that a response has returned, as long as its message is kept.",
        .shape = {.data = "OpenAiItem"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kItemExample},
    },
    api::Route{
        .method = api::Method::kDelete,
        .pattern = "/openai/v1/conversations/{conversation_id}/items/{item_id}",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kDelete},
        .hides_foreign_threads = true,
        .reads_page = true,
        .handler = DeleteItem,
        .summary = "Delete an item of a conversation",
        .description = "Removes the message that the item is a part of from the history and from "
                       "the context, and so all items of this message.",
        .shape = {.data = "OpenAiConversation"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kConversationExample},
    },
};

}  // namespace agent_graph::openai

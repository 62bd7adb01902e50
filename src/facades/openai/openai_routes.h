// Routes of the façade for clients of OpenAI's API. Part of the route table in api/routes.cc.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "api/http/route.h"
#include "api/resources/run_shapes.h"
#include "facades/openai/chat_shapes.h"
#include "facades/openai/conversation_routes.h"
#include "facades/openai/errors.h"
#include "facades/openai/handlers.h"
#include "facades/openai/response_routes.h"
#include "facades/openai/schemas.h"

namespace agent_graph::openai {

inline constexpr std::string_view kPath = "/openai/v1";

inline constexpr std::array kChatRequestHeaders = {
    api::kIdempotencyKey,
    api::Field{.name = "X-Thread-Id",
               .type = api::FieldType::kText,
               .description = "The thread that keeps the conversation, as `metadata.thread_id`"},
};

inline constexpr std::array kChatRoutes = {
    api::Route{
        .method = api::Method::kGet,
        .pattern = "/openai/v1/models",
        .permission = {auth::Resource::kGraph, auth::Action::kRead},
        .handler = ListModels,
        .summary = "List the agent as a model",
        .description = "The list has one model: the agent, by the name of its graph.",
        .shape = {.data = "OpenAiModelList"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kModelListExample},
    },
    api::Route{
        .method = api::Method::kGet,
        .pattern = "/openai/v1/models/{model}",
        .permission = {auth::Resource::kGraph, auth::Action::kRead},
        .handler = GetModel,
        .summary = "Show the agent as a model",
        .description = "404 for every name but that of the agent's graph.",
        .shape = {.data = "OpenAiModel"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kModelExample},
    },
    api::Route{
        .method = api::Method::kPost,
        .pattern = "/openai/v1/chat/completions",
        .permission = {auth::Resource::kGraph, auth::Action::kInvoke},
        .body = api::BodyKind::kJson,
        .handler = CompleteChat,
        .summary = "Let the agent answer a conversation, as OpenAI's Chat Completions",
        .description =
            "Without a thread the messages are the whole conversation and nothing is stored. With "
            "`metadata.thread_id` or the header `X-Thread-Id` the thread keeps the conversation, "
            "and only the messages behind the last one of the assistant are added to it. A call "
            "of the client's `tools` ends the answer with `finish_reason` `tool_calls`; the next "
            "request has its result. With `stream` the answer is sent as server-sent events. With "
            "an `Idempotency-Key` a repeated request gets the same answer, even if the worker has "
            "died meanwhile.",
        .shape = {.body = &kChatBody,
                  .data = "OpenAiChatCompletion",
                  .request_headers = kChatRequestHeaders,
                  .response_headers = kThreadHeaders},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.request = kChatRequestExample,
                    .answer = kChatExample,
                    .events = kChatEventsExample},
    },
};

inline constexpr auto kOpenAiRoutes = [] {
  std::array<api::Route, kChatRoutes.size() + kResponseRoutes.size() + kConversationRoutes.size()>
      routes{};
  auto end = std::ranges::copy(kChatRoutes, routes.begin()).out;
  end = std::ranges::copy(kResponseRoutes, end).out;
  std::ranges::copy(kConversationRoutes, end);
  return routes;
}();

}  // namespace agent_graph::openai

// Routes of the Responses API. Part of the table in openai_routes.h.
#pragma once

#include <array>
#include <string_view>

#include "api/http/route.h"
#include "api/resources/run_shapes.h"
#include "facades/openai/errors.h"
#include "facades/openai/handlers.h"
#include "facades/openai/response_shapes.h"

namespace agent_graph::openai {

// Routes of OpenAI that are not offered, but would match that of one response.
inline constexpr std::string_view kResponseRoutesNotOffered[] = {
    "/openai/v1/responses/compact",
    "/openai/v1/responses/input_tokens",
};

inline constexpr std::string_view kResponseRequestExample =
    R"({"model":"support","input":"hello","background":true})";

inline constexpr std::string_view kResponseExample =
    R"({"id":"resp_dG91cgA1ZjBlOGMyYQ","object":"response","created_at":1764190000,
      "status":"completed","completed_at":1764190001,"error":null,"incomplete_details":null,
      "model":"support","output":[{"type":"message","role":"assistant","id":"msg_dG91cgBtMQA",
      "status":"completed","content":[{"type":"output_text","text":"You said: hello",
      "annotations":[],"logprobs":[]}]}],"usage":{"input_tokens":12,"input_tokens_details":
      {"cached_tokens":0,"cache_write_tokens":0},"output_tokens":3,"output_tokens_details":
      {"reasoning_tokens":0},"total_tokens":15},"store":true,"background":true,
      "conversation":null,"include":[],"instructions":null,"max_output_tokens":null,
      "max_tool_calls":null,"metadata":{},"parallel_tool_calls":true,"previous_response_id":null,
      "prompt_cache_key":null,"reasoning":{"effort":null,"summary":null},
      "safety_identifier":null,"service_tier":"default","temperature":null,
      "text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,
      "top_p":null,"truncation":"disabled","user":null})";

inline constexpr std::string_view kResponseEventsExample =
    "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\","
    "\"sequence_number\":4,\"item_id\":\"msg_dG91cgBtMQA\",\"output_index\":0,"
    "\"content_index\":0,\"delta\":\"You\",\"logprobs\":[]}\n\n";

inline constexpr std::string_view kDeletedResponseExample =
    R"({"id":"resp_dG91cgA1ZjBlOGMyYQ","object":"response","deleted":true})";

inline constexpr std::string_view kItemListExample =
    R"({"object":"list","data":[{"id":"msg_dG91cgBtMAA","type":"message","status":"completed",
      "role":"user","content":[{"type":"input_text","text":"hello"}]}],
      "first_id":"msg_dG91cgBtMAA","last_id":"msg_dG91cgBtMAA","has_more":false})";

// Also of chat completions.
inline constexpr std::array kThreadHeaders = {
    api::Field{.name = "X-Thread-Id",
               .type = api::FieldType::kText,
               .description = "The thread of the conversation; absent if nothing is stored"},
};

inline constexpr std::array kResponseRoutes = {
    api::Route{
        .method = api::Method::kPost,
        .pattern = "/openai/v1/responses",
        .permission = {auth::Resource::kGraph, auth::Action::kInvoke},
        .hides_foreign_threads = true,
        .body = api::BodyKind::kJson,
        .handler = CreateResponse,
        .summary = "Let the agent answer, as OpenAI's Responses API",
        .description =
            "The response can be read later by its id, unless `store` is false. "
            "`previous_response_id` or `conversation` name what the input follows. With "
            "`background` the run goes on without this connection, also when its worker dies; its "
            "events have the same numbers whenever they are read.",
        .shape = {.body = &kResponseBody,
                  .data = "OpenAiResponse",
                  .request_headers = api::kRunRequestHeaders,
                  .response_headers = kThreadHeaders},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.request = kResponseRequestExample,
                    .answer = kResponseExample,
                    .events = kResponseEventsExample},
    },
    api::Route{
        .method = api::Method::kGet,
        .pattern = "/openai/v1/responses/{response_id}",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .handler = GetResponse,
        .summary = "Read a response, or its events from any number on",
        .description =
            "With `stream=true` the events of a background response behind `starting_after`, and "
            "then those that come, until its end. Any worker can send them, as long as the run is "
            "kept.",
        .shape = {.query = &kResponseQuery, .data = "OpenAiResponse"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kResponseExample, .events = kResponseEventsExample},
    },
    api::Route{
        .method = api::Method::kPost,
        .pattern = "/openai/v1/responses/{response_id}/cancel",
        .permission = {auth::Resource::kGraph, auth::Action::kStop},
        .hides_foreign_threads = true,
        .handler = CancelResponse,
        .summary = "Cancel a background response",
        .description = "The run ends and keeps what it has done. A response that has ended before "
                       "is returned as it is.",
        .shape = {.data = "OpenAiResponse"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kResponseExample},
    },
    api::Route{
        .method = api::Method::kDelete,
        .pattern = "/openai/v1/responses/{response_id}",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kDelete},
        .hides_foreign_threads = true,
        .handler = DeleteResponse,
        .summary = "Delete a response",
        .description = "With the last response of a thread its messages are deleted as well, "
                       "unless the thread is a conversation that a request has named.",
        .shape = {.data = "OpenAiDeletedResponse"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kDeletedResponseExample},
    },
    api::Route{
        .method = api::Method::kGet,
        .pattern = "/openai/v1/responses/{response_id}/input_items",
        .permission = {auth::Resource::kCheckpointer, auth::Action::kRead},
        .hides_foreign_threads = true,
        .reads_page = true,
        .handler = ListInputItems,
        .summary = "List the items of a response's request",
        .description = "The newest first, unless `order` is `asc`. `after` is the id of the last "
                       "item of the page before.",
        .shape = {.query = &kInputItemsQuery, .data = "OpenAiItemList"},
        .render_error = RenderError,
        .facade = api::Facade::kOpenAi,
        .example = {.answer = kItemListExample},
    },
};

}  // namespace agent_graph::openai

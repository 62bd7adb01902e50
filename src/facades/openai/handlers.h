// Handlers of the façade for clients of OpenAI's API. Each runs on its own fiber, may suspend it,
// and answers the request.
#pragma once

namespace agent_graph::api {
class HandlerContext;
}

namespace agent_graph::openai {

void ListModels(api::HandlerContext& context);  // models.cc
void GetModel(api::HandlerContext& context);
void CompleteChat(api::HandlerContext& context);    // chat.cc
void CreateResponse(api::HandlerContext& context);  // responses.cc
void GetResponse(api::HandlerContext& context);     // kept_responses.cc
void CancelResponse(api::HandlerContext& context);
void DeleteResponse(api::HandlerContext& context);
void ListInputItems(api::HandlerContext& context);

}  // namespace agent_graph::openai

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
void CreateConversation(api::HandlerContext& context);  // conversations.cc
void GetConversation(api::HandlerContext& context);
void UpdateConversation(api::HandlerContext& context);
void DeleteConversation(api::HandlerContext& context);
void CreateItems(api::HandlerContext& context);  // conversation_items.cc
void ListItems(api::HandlerContext& context);
void GetItem(api::HandlerContext& context);
void DeleteItem(api::HandlerContext& context);

}  // namespace agent_graph::openai

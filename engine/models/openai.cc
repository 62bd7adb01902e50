#include "models/openai.h"

#include <utility>

#include "models/chat_reply.h"
#include "models/chat_request.h"

namespace agent_graph::models {
namespace {

constexpr std::string_view kOpenAiBaseUrl = "https://api.openai.com/v1";
constexpr std::string_view kPath = "/chat/completions";

}  // namespace

Result<std::unique_ptr<OpenAiModel>> OpenAiModel::Create(
    ProviderOptions options, std::shared_ptr<const net::HttpClient> client) {
  AG_RETURN_IF_ERROR(CheckOptions(options));
  return std::unique_ptr<OpenAiModel>(new OpenAiModel(std::move(options), std::move(client)));
}

OpenAiModel::OpenAiModel(ProviderOptions options, std::shared_ptr<const net::HttpClient> client)
    : HttpModel(std::move(options), std::move(client), kOpenAiBaseUrl), url_(Url(kPath)) {
  if (!this->options().api_key.empty()) {
    AddHeader("Authorization", "Bearer " + this->options().api_key);
  }
}

Result<HttpModel::WireRequest> OpenAiModel::Write(const ModelRequest& request) const {
  AG_ASSIGN_OR_RETURN(std::string body,
                      ChatRequestJson(request, options().model, options().parameters_json));
  return WireRequest{.url = url_, .body = std::move(body)};
}

std::unique_ptr<ReplyBuilder> OpenAiModel::NewReply() const {
  return std::make_unique<ChatReplyBuilder>();
}

}  // namespace agent_graph::models

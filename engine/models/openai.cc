#include "models/openai.h"

#include <utility>

#include "models/chat_reply.h"
#include "models/chat_request.h"

namespace agent_graph::models {
namespace {

constexpr std::string_view kCompletionsPath = "/chat/completions";

}  // namespace

const ProviderKind kOpenAiProvider = {
    .name = "openai",
    .telemetry_name = "openai",
    .base_url = "https://api.openai.com/v1",
    .key_variable = "OPENAI_API_KEY",
    .answers_json = true,
    .create = &OpenAiModel::Create,
};

Result<std::unique_ptr<ModelProvider>> OpenAiModel::Create(
    const ProviderOptions& options, const std::shared_ptr<const net::HttpClient>& client) {
  AG_RETURN_IF_ERROR(CheckOptions(options));
  return std::unique_ptr<ModelProvider>(new OpenAiModel(options, client));
}

OpenAiModel::OpenAiModel(ProviderOptions options, std::shared_ptr<const net::HttpClient> client)
    : HttpModel(std::move(options), std::move(client), kOpenAiProvider.base_url),
      url_(Url(kCompletionsPath)) {
  if (!this->options().api_key.empty()) {
    AddHeader("Authorization", "Bearer " + this->options().api_key);
  }
}

Result<WireRequest> OpenAiModel::Write(const ModelRequest& request) const {
  AG_ASSIGN_OR_RETURN(std::string body,
                      ChatRequestJson(request, options().model, options().parameters_json));
  return WireRequest{.url = url_, .body = std::move(body)};
}

std::unique_ptr<ReplyBuilder> OpenAiModel::NewReply() const {
  return std::make_unique<ChatReplyBuilder>();
}

}  // namespace agent_graph::models

#include "models/anthropic.h"

#include <utility>

#include "models/anthropic_reply.h"
#include "models/anthropic_request.h"

namespace agent_graph::models {
namespace {

constexpr std::string_view kMessagesPath = "/messages";
constexpr char kVersion[] = "2023-06-01";

}  // namespace

const ProviderKind kAnthropicProvider = {
    .name = "anthropic",
    .telemetry_name = "anthropic",
    .base_url = "https://api.anthropic.com/v1",
    .key_variable = "ANTHROPIC_API_KEY",
    .create = &AnthropicModel::Create,
};

Result<std::unique_ptr<ModelProvider>> AnthropicModel::Create(
    const ProviderOptions& options, const std::shared_ptr<const net::HttpClient>& client) {
  AG_RETURN_IF_ERROR(CheckOptions(options));
  return std::unique_ptr<ModelProvider>(new AnthropicModel(options, client));
}

AnthropicModel::AnthropicModel(ProviderOptions options,
                               std::shared_ptr<const net::HttpClient> client)
    : HttpModel(std::move(options), std::move(client), kAnthropicProvider.base_url),
      url_(Url(kMessagesPath)) {
  AddHeader("anthropic-version", kVersion);
  if (!this->options().api_key.empty()) AddHeader("x-api-key", this->options().api_key);
}

Result<WireRequest> AnthropicModel::Write(const ModelRequest& request) const {
  AG_ASSIGN_OR_RETURN(std::string body,
                      AnthropicRequestJson(request, options().model, options().parameters_json));
  return WireRequest{.url = url_, .body = std::move(body)};
}

std::unique_ptr<ReplyBuilder> AnthropicModel::NewReply() const {
  return std::make_unique<AnthropicReplyBuilder>();
}

}  // namespace agent_graph::models

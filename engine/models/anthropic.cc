#include "models/anthropic.h"

#include <utility>

#include "models/anthropic_reply.h"
#include "models/anthropic_request.h"

namespace agent_graph::models {
namespace {

constexpr std::string_view kAnthropicBaseUrl = "https://api.anthropic.com/v1";
constexpr std::string_view kPath = "/messages";
constexpr char kVersion[] = "2023-06-01";

}  // namespace

Result<std::unique_ptr<AnthropicModel>> AnthropicModel::Create(
    ProviderOptions options, std::shared_ptr<const net::HttpClient> client) {
  AG_RETURN_IF_ERROR(CheckOptions(options));
  return std::unique_ptr<AnthropicModel>(new AnthropicModel(std::move(options), std::move(client)));
}

AnthropicModel::AnthropicModel(ProviderOptions options,
                               std::shared_ptr<const net::HttpClient> client)
    : HttpModel(std::move(options), std::move(client), kAnthropicBaseUrl), url_(Url(kPath)) {
  AddHeader("anthropic-version", kVersion);
  if (!this->options().api_key.empty()) AddHeader("x-api-key", this->options().api_key);
}

Result<HttpModel::WireRequest> AnthropicModel::Write(const ModelRequest& request) const {
  AG_ASSIGN_OR_RETURN(std::string body,
                      AnthropicRequestJson(request, options().model, options().parameters_json));
  return WireRequest{.url = url_, .body = std::move(body)};
}

std::unique_ptr<ReplyBuilder> AnthropicModel::NewReply() const {
  return std::make_unique<AnthropicReplyBuilder>();
}

}  // namespace agent_graph::models

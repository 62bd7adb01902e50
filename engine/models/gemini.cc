#include "models/gemini.h"

#include <utility>

#include "base/percent_encoding.h"
#include "models/gemini_reply.h"
#include "models/gemini_request.h"

namespace agent_graph::models {
namespace {

// A name with a slash ("tunedModels/…") is already a path.
std::string ModelPath(const std::string& model) {
  const char* folder = model.find('/') == std::string::npos ? "/models/" : "/";
  return folder + PercentEncode(model, "/");
}

}  // namespace

const ProviderKind kGeminiProvider = {
    .name = "gemini",
    .telemetry_name = "gcp.gemini",
    .base_url = "https://generativelanguage.googleapis.com/v1beta",
    .key_variable = "GEMINI_API_KEY",
    .answers_json = true,
    .create = &GeminiModel::Create,
};

Result<std::unique_ptr<ModelProvider>> GeminiModel::Create(
    const ProviderOptions& options, const std::shared_ptr<const net::HttpClient>& client) {
  AG_RETURN_IF_ERROR(CheckOptions(options));
  return std::unique_ptr<ModelProvider>(new GeminiModel(options, client));
}

GeminiModel::GeminiModel(ProviderOptions options, std::shared_ptr<const net::HttpClient> client)
    : HttpModel(std::move(options), std::move(client), kGeminiProvider.base_url) {
  if (!this->options().api_key.empty()) AddHeader("x-goog-api-key", this->options().api_key);
}

Result<WireRequest> GeminiModel::Write(const ModelRequest& request) const {
  const std::string& model = request.model.empty() ? options().model : request.model;
  AG_ASSIGN_OR_RETURN(GeminiRequest written,
                      WriteGeminiRequest(request, model, options().parameters_json));
  const std::string path = ModelPath(model);
  return WireRequest{.url = written.stream ? Url(path + ":streamGenerateContent", "alt=sse")
                                           : Url(path + ":generateContent"),
                     .body = std::move(written.body)};
}

std::unique_ptr<ReplyBuilder> GeminiModel::NewReply() const {
  return std::make_unique<GeminiReplyBuilder>();
}

}  // namespace agent_graph::models

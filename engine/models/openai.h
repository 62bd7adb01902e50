// OpenAI-compatible chat completions: OpenAI, vLLM, llama.cpp, Ollama, LiteLLM, ….
#pragma once

#include <memory>
#include <string>

#include "models/http_model.h"
#include "models/provider_kind.h"

namespace agent_graph::models {

extern const ProviderKind kOpenAiProvider;

class OpenAiModel : public HttpModel {
 public:
  // kInvalidArgument names the option that cannot work.
  static Result<std::unique_ptr<ModelProvider>> Create(
      const ProviderOptions& options, const std::shared_ptr<const net::HttpClient>& client);

 private:
  OpenAiModel(ProviderOptions options, std::shared_ptr<const net::HttpClient> client);

  Result<WireRequest> Write(const ModelRequest& request) const override;
  std::unique_ptr<ReplyBuilder> NewReply() const override;

  const std::string url_;
};

}  // namespace agent_graph::models

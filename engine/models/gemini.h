// Gemini's generateContent, and servers compatible with it.
#pragma once

#include <memory>
#include <string>

#include "models/http_model.h"
#include "models/provider_kind.h"

namespace agent_graph::models {

extern const ProviderKind kGeminiProvider;

class GeminiModel : public HttpModel {
 public:
  // kInvalidArgument names the option that cannot work.
  static Result<std::unique_ptr<ModelProvider>> Create(
      const ProviderOptions& options, const std::shared_ptr<const net::HttpClient>& client);

 private:
  GeminiModel(ProviderOptions options, std::shared_ptr<const net::HttpClient> client);

  Result<WireRequest> Write(const ModelRequest& request) const override;
  std::unique_ptr<ReplyBuilder> NewReply() const override;
};

}  // namespace agent_graph::models

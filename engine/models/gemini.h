// Gemini's generateContent, and servers compatible with it.
#pragma once

#include <memory>
#include <string>

#include "models/http_model.h"

namespace agent_graph::models {

class GeminiModel : public HttpModel {
 public:
  // kInvalidArgument names the option that cannot work.
  static Result<std::unique_ptr<GeminiModel>> Create(ProviderOptions options,
                                                     std::shared_ptr<const net::HttpClient> client);

 private:
  GeminiModel(ProviderOptions options, std::shared_ptr<const net::HttpClient> client);

  Result<WireRequest> Write(const ModelRequest& request) const override;
  std::unique_ptr<ReplyBuilder> NewReply() const override;
};

}  // namespace agent_graph::models

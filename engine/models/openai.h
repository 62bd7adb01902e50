// OpenAI-compatible chat completions: OpenAI itself, vLLM, llama.cpp, Ollama, LiteLLM, ….
//
// Streams by default; a server that answers with one JSON document is understood, too. Calls are
// repeated with backoff on 408, 429, 5xx and lost connections, only before the first piece of the
// reply, and only as often as `retries_max` and the deadline allow.
#pragma once

#include <memory>
#include <string>

#include "models/model.h"
#include "models/registry.h"
#include "net/http_client.h"

namespace agent_graph::models {

class OpenAiModel : public ModelProvider {
 public:
  // kInvalidArgument names the option that cannot work.
  static Result<std::unique_ptr<OpenAiModel>> Create(ProviderOptions options,
                                                     std::shared_ptr<const net::HttpClient> client);

  Result<ModelReply> Generate(const ModelRequest& request,
                              const runtime::Cancellation& cancellation,
                              const std::function<Status(const ModelDelta&)>& on_delta) override;

 private:
  OpenAiModel(ProviderOptions options, std::shared_ptr<const net::HttpClient> client);

  const ProviderOptions options_;
  const std::shared_ptr<const net::HttpClient> client_;
  std::string url_;
  net::HttpHeaders headers_;
};

}  // namespace agent_graph::models

// Base class of models behind an HTTP API. Each provider has a subclass that writes its requests
// and a ReplyBuilder that reads its replies.
//
// Replies are streamed by default; a server that replies with one JSON document is supported, too.
// Calls are retried with backoff after 408, 429, 5xx, lost connections and similar errors within a
// stream, but only before the first piece of the reply, and at most as often as `retries_max` and
// the deadline allow. The second send after a kept connection was lost counts as a retry; the last
// attempt uses a new connection.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "models/base_url.h"
#include "models/circuit.h"
#include "models/model.h"
#include "models/provider_options.h"
#include "models/reply_builder.h"
#include "models/wire_request.h"
#include "net/http_client.h"

namespace agent_graph::models {

class ModelCall;

class HttpModel : public ModelProvider {
 public:
  Result<ModelReply> Generate(const ModelRequest& request,
                              const runtime::Cancellation& cancellation,
                              const std::function<Status(const ModelDelta&)>& on_delta) final;
  bool failing() const final { return circuit_.IsOpen(MonotonicClock::now()); }

 protected:
  HttpModel(ProviderOptions options, std::shared_ptr<const net::HttpClient> client,
            std::string_view default_base_url);

  // kInvalidArgument names the option that cannot work.
  static Status CheckOptions(const ProviderOptions& options);

  virtual Result<WireRequest> Write(const ModelRequest& request) const = 0;
  virtual std::unique_ptr<ReplyBuilder> NewReply() const = 0;

  // For constructors: adds a header; a configured header of the same name takes precedence.
  void AddHeader(std::string name, std::string value);
  // See BaseUrl::With.
  std::string Url(std::string_view path, std::string_view query = {}) const {
    return base_url_.With(path, query);
  }

  const ProviderOptions& options() const { return options_; }

 private:
  struct Attempts;

  Result<ModelReply> Call(Attempts attempts);
  Result<ModelReply> Attempt(Attempts& attempts);
  Status Start(ModelCall& call, const Attempts& attempts) const;
  // Takes note of the result of an attempt, and decides whether another one follows.
  void Settle(const ModelCall& call, Result<ModelReply>& reply, Attempts& attempts);
  void AttemptAgain(Attempts& attempts, Result<ModelReply>& reply);
  net::HttpRequest MakeRequest(const WireRequest& wire, Deadline deadline) const;

  const ProviderOptions options_;
  const std::shared_ptr<const net::HttpClient> client_;
  const BaseUrl base_url_;
  net::HttpHeaders headers_;
  Circuit circuit_;
};

}  // namespace agent_graph::models

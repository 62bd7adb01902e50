// One HTTP exchange with a model provider: from the request to a reply or a failure.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "models/model.h"
#include "models/reply_builder.h"
#include "net/http_client.h"

namespace agent_graph::models {

// One attempt; one fiber.
class ModelCall {
 public:
  // `secret` is blotted out of everything the provider says.
  ModelCall(const net::HttpClient& client, const runtime::Cancellation& cancellation,
            const std::function<Status(const ModelDelta&)>& on_delta, const std::string& secret,
            ReplyBuilder& builder);

  Result<ModelReply> Run(net::HttpRequest request);

  // After a failure: nothing of a reply was delivered and the cause may pass.
  bool may_repeat() const { return may_repeat_; }
  // How often the request was sent: 0, 1 or 2.
  int sends() const { return sends_; }
  // How long the provider wants to be left alone.
  std::optional<std::chrono::milliseconds> retry_after() const { return retry_after_; }

 private:
  Result<ModelReply> ReadReply(net::HttpCall& call);
  Result<ModelReply> ReadStream(net::HttpCall& call);
  Result<ModelReply> ReadWhole(net::HttpCall& call);
  Status Deliver(std::string_view json);
  Status RefusalOf(net::HttpCall& call, const net::HttpHead& head);
  // The connection failed while the reply was awaited or read.
  Status LostReply(const Status& status);
  Status TransportStatus(const Status& status) const;
  Status WithoutSecret(const Status& status) const;

  const net::HttpClient& client_;
  const runtime::Cancellation& cancellation_;
  const std::function<Status(const ModelDelta&)>& on_delta_;
  const std::string& secret_;
  ReplyBuilder& builder_;
  size_t event_bytes_max_ = 0;  // one event may be the whole reply
  bool delivered_ = false;      // a piece went to the listener
  bool may_repeat_ = false;
  int sends_ = 0;
  std::optional<std::chrono::milliseconds> retry_after_;
};

}  // namespace agent_graph::models

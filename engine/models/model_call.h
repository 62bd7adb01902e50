// One HTTP exchange with a model provider, from the request to a reply or a failure.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "models/model.h"
#include "models/provider_options.h"
#include "models/reply_builder.h"
#include "models/wire_request.h"
#include "net/http_client.h"
#include "net/sse.h"

namespace agent_graph::models {

// One attempt. Used by one fiber.
class ModelCall {
 public:
  // The secrets of `provider` are removed from all its texts. The body of `wire` is freed with the
  // first piece of the reply, because no attempt follows after that.
  ModelCall(const net::HttpClient& client, const runtime::Cancellation& cancellation,
            const std::function<Status(const ModelDelta&)>& on_delta,
            const ProviderOptions& provider, WireRequest& wire, ReplyBuilder& builder);

  // Sends the request; after success, Read returns the reply.
  Status Start(net::HttpRequest&& request);
  Result<ModelReply> Read();

  // After a failure: true if no part of a reply was delivered and the cause may be temporary.
  bool may_repeat() const { return may_repeat_; }
  // True if the provider has replied, if only with a refusal.
  bool was_answered() const { return was_answered_; }
  // How often the request was sent: 0, 1 or 2.
  int sends() const { return sends_; }
  // The pause that the provider asks for.
  std::optional<std::chrono::milliseconds> retry_after() const { return retry_after_; }

 private:
  enum class Form : uint8_t { kWhole, kStream };

  // Fills the builder. The functions in which the fiber waits return no reply and are not inlined
  // into each other, because room for one would enlarge the stack of each open stream.
  Status Fill();
  Result<Form> ReadForm();
  Status ReadStream();
  // After the stop reason, and after each piece that came later: for a limited time.
  bool MayAwaitEnd();
  Status ReadWhole();
  // Delivers the events that are complete. `last`: no more bytes come.
  Status TakeEvents(net::SseParser& parser, bool last);
  // `filled`: the result of Fill.
  Result<ModelReply> Conclude(const Status& filled);
  // `counted_bytes`: how many of its bytes were delivered as hidden ones while they arrived.
  Status Deliver(std::string_view json, size_t counted_bytes = 0);
  Status RefusalOf(const net::HttpHead& head);
  // The connection failed before the end of the reply.
  Status LostReply(const Status& status);
  Status TransportStatus(const Status& status) const;
  // Adds for the log where the request went, and which settings of the model to check.
  Status WithAdvice(Status status, std::string_view what) const;
  Status WithoutSecret(const Status& status) const;

  const net::HttpClient& client_;
  const runtime::Cancellation& cancellation_;
  const std::function<Status(const ModelDelta&)>& on_delta_;
  const ProviderOptions& provider_;
  WireRequest& wire_;
  ReplyBuilder& builder_;
  std::unique_ptr<net::HttpCall> call_;
  size_t event_bytes_max_ = 0;     // one event may contain the whole reply
  bool delivered_ = false;         // a piece was passed to on_delta
  Deadline end_by_ = kNoDeadline;  // of a complete reply; unset by each piece that adds to it
  bool marked_end_ = false;        // the provider has marked the end of the reply
  bool may_repeat_ = false;
  bool was_answered_ = false;
  int sends_ = 0;
  std::optional<std::chrono::milliseconds> retry_after_;
};

}  // namespace agent_graph::models

#include "models/http_model.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/letter_case.h"
#include "models/model_call.h"
#include "net/retry.h"
#include "runtime/runtime.h"

namespace agent_graph::models {
namespace {

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
  });
}

}  // namespace

Status HttpModel::CheckOptions(const ProviderOptions& options) {
  const std::string& url = options.base_url;
  const bool http = url.starts_with("http://") || url.starts_with("https://");
  if (!url.empty() && (!http || HasControlCharacter(url) || url.find(' ') != std::string::npos)) {
    return Status(StatusCode::kInvalidArgument, "base_url must be an http or https address");
  }
  if (HasControlCharacter(options.api_key)) {
    return Status(StatusCode::kInvalidArgument, "api_key contains a control character");
  }
  for (const auto& [name, value] : options.headers) {
    if (name.empty() || HasControlCharacter(name) || HasControlCharacter(value) ||
        name.find_first_of(": ") != std::string::npos) {
      return Status(StatusCode::kInvalidArgument, "headers has an entry that is no header");
    }
  }
  return Status::Ok();
}

HttpModel::HttpModel(ProviderOptions options, std::shared_ptr<const net::HttpClient> client,
                     std::string_view default_base_url)
    : options_(std::move(options)),
      client_(std::move(client)),
      base_url_(BaseUrl::Of(options_.base_url.empty() ? default_base_url : options_.base_url)) {
  headers_ = {{"Content-Type", "application/json"},
              {"Accept", "text/event-stream, application/json"}};
  for (const auto& header : options_.headers) headers_.push_back(header);
}

void HttpModel::AddHeader(std::string name, std::string value) {
  const bool configured =
      std::any_of(options_.headers.begin(), options_.headers.end(),
                  [&](const auto& header) { return EqualsIgnoringCase(header.first, name); });
  if (!configured) headers_.emplace_back(std::move(name), std::move(value));
}

net::HttpRequest HttpModel::MakeRequest(const WireRequest& wire, Deadline deadline) const {
  net::HttpRequest http;
  http.url = wire.url;
  http.headers = headers_;
  http.body = wire.body;
  http.lasts_long = true;
  http.http2 = options_.http2;
  http.connect_timeout = options_.connect_timeout;
  http.first_byte_timeout = options_.first_byte_timeout;
  http.idle_timeout = options_.idle_timeout;
  http.deadline = deadline;
  http.reply_bytes_max = options_.reply_bytes_max;
  return http;
}

// A call and its attempts.
struct HttpModel::Attempts {
  const ModelRequest& request;
  WireRequest& wire;
  const runtime::Cancellation& cancellation;
  const std::function<Status(const ModelDelta&)>& on_delta;
  int left;
  int failed = 0;
  std::optional<std::chrono::milliseconds> delay = {};  // before the next one; none: no next one
};

// The functions below are not inlined into each other, so that the stack of a call that waits for
// its reply has no room for what happens before and after it.

[[gnu::noinline]] Status HttpModel::Start(ModelCall& call, const Attempts& attempts) const {
  net::HttpRequest http = MakeRequest(attempts.wire, attempts.request.deadline);
  http.once = attempts.left == 1;  // the client may send twice on a kept connection
  return call.Start(std::move(http));
}

[[gnu::noinline]] void HttpModel::Settle(const ModelCall& call, Result<ModelReply>& reply,
                                         Attempts& attempts) {
  attempts.delay.reset();
  if (reply.ok()) {
    circuit_.Answered();
    const std::string& asked = attempts.request.model;
    if (reply->model.empty()) reply->model = asked.empty() ? options_.model : asked;
    return;
  }
  attempts.left -= std::max(call.sends(), 1);
  const bool is_the_models = reply.status().code() == StatusCode::kModel;
  // No reply counts as a failure also if no other attempt would help, as with a refused
  // certificate.
  if (call.may_repeat() || (is_the_models && !call.was_answered())) {
    circuit_.Failed(MonotonicClock::now());
  } else if (is_the_models) {
    circuit_.Answered();
  }
  if (!call.may_repeat() || attempts.left <= 0) return;
  const std::chrono::milliseconds delay =
      call.retry_after().value_or(net::RetryDelay(attempts.failed++, RandomUint64()));
  const Deadline deadline = attempts.request.deadline;
  const bool in_time = deadline == kNoDeadline || MonotonicClock::now() + delay < deadline;
  if (delay <= net::kRetryAfterMax && in_time) attempts.delay = delay;
}

[[gnu::noinline]] Result<ModelReply> HttpModel::Attempt(Attempts& attempts) {
  const std::unique_ptr<ReplyBuilder> builder = NewReply();
  ModelCall call(*client_, attempts.cancellation, attempts.on_delta, options_, attempts.wire,
                 *builder);
  const Status started = Start(call, attempts);
  Result<ModelReply> reply = started.ok() ? call.Read() : Result<ModelReply>(started);
  Settle(call, reply, attempts);
  return reply;
}

[[gnu::noinline]] void HttpModel::AttemptAgain(Attempts& attempts, Result<ModelReply>& reply) {
  if (Status slept = runtime::SleepFor(*attempts.delay, &attempts.cancellation); slept.ok()) {
    reply = Attempt(attempts);
  } else {
    attempts.delay.reset();
    reply = std::move(slept);
  }
}

[[gnu::noinline]] Result<ModelReply> HttpModel::Call(Attempts attempts) {
  Result<ModelReply> reply = Attempt(attempts);
  while (attempts.delay) AttemptAgain(attempts, reply);
  return reply;
}

Result<ModelReply> HttpModel::Generate(const ModelRequest& request,
                                       const runtime::Cancellation& cancellation,
                                       const std::function<Status(const ModelDelta&)>& on_delta) {
  Result<WireRequest> wire = Write(request);
  if (!wire.ok()) return wire.status();
  return Call({request, *wire, cancellation, on_delta, options_.retries_max + 1});
}

}  // namespace agent_graph::models

#include "models/http_model.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "base/letter_case.h"
#include "models/model_call.h"
#include "models/retry.h"
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
    : options_(std::move(options)), client_(std::move(client)) {
  const std::string_view base =
      options_.base_url.empty() ? default_base_url : std::string_view(options_.base_url);
  const size_t query = base.find('?');
  base_path_ = base.substr(0, query);
  while (base_path_.ends_with('/')) base_path_.pop_back();
  if (query != std::string_view::npos) base_query_ = base.substr(query + 1);
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

std::string HttpModel::Url(std::string_view path, std::string_view query) const {
  std::string url = base_path_;
  url += path;
  for (const std::string_view part : {std::string_view(base_query_), query}) {
    if (part.empty()) continue;
    url += url.find('?') == std::string::npos ? '?' : '&';
    url += part;
  }
  return url;
}

net::HttpRequest HttpModel::MakeRequest(const WireRequest& wire, Deadline deadline) const {
  net::HttpRequest http;
  http.url = wire.url;
  http.headers = headers_;
  http.body = wire.body;
  http.http2 = options_.http2;
  http.connect_timeout = options_.connect_timeout;
  http.first_byte_timeout = options_.first_byte_timeout;
  http.idle_timeout = options_.idle_timeout;
  http.deadline = deadline;
  http.reply_bytes_max = options_.reply_bytes_max;
  return http;
}

Result<ModelReply> HttpModel::Generate(const ModelRequest& request,
                                       const runtime::Cancellation& cancellation,
                                       const std::function<Status(const ModelDelta&)>& on_delta) {
  AG_ASSIGN_OR_RETURN(const WireRequest wire, Write(request));
  int tries_left = options_.retries_max + 1;
  for (int attempt = 0;; ++attempt) {
    const std::unique_ptr<ReplyBuilder> builder = NewReply();
    ModelCall call(*client_, cancellation, on_delta, options_, *builder);
    net::HttpRequest http = MakeRequest(wire, request.deadline);
    http.once = tries_left == 1;  // the client may send twice on a kept connection
    Result<ModelReply> reply = call.Run(std::move(http));
    if (reply.ok()) {
      circuit_.Answered();
      if (reply->model.empty())
        reply->model = request.model.empty() ? options_.model : request.model;
      return reply;
    }
    tries_left -= std::max(call.sends(), 1);
    if (call.may_repeat()) {
      circuit_.Failed(MonotonicClock::now());
    } else if (reply.status().code() == StatusCode::kModel) {
      circuit_.Answered();
    }
    if (!call.may_repeat() || tries_left <= 0) return reply;

    const std::chrono::milliseconds delay =
        call.retry_after().value_or(RetryDelay(attempt, RandomUint64()));
    const bool in_time =
        request.deadline == kNoDeadline || MonotonicClock::now() + delay < request.deadline;
    if (delay > kRetryAfterMax || !in_time) return reply;
    AG_RETURN_IF_ERROR(runtime::SleepFor(delay, &cancellation));
  }
}

}  // namespace agent_graph::models

#include "models/openai.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "models/chat_call.h"
#include "models/chat_request.h"
#include "models/retry.h"
#include "runtime/runtime.h"

namespace agent_graph::models {
namespace {

constexpr char kDefaultBaseUrl[] = "https://api.openai.com/v1";
constexpr std::string_view kPath = "/chat/completions";

// The path goes before a query, which some gateways need ("?api-version=…").
std::string CompletionsUrl(const std::string& base_url) {
  const std::string base = base_url.empty() ? kDefaultBaseUrl : base_url;
  const size_t query = base.find('?');
  std::string url = base.substr(0, query);
  while (url.ends_with('/')) url.pop_back();
  url += kPath;
  if (query != std::string::npos) url += base.substr(query);
  return url;
}

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
  });
}

bool IsNamed(const std::string& header, std::string_view lower_case_name) {
  return std::equal(header.begin(), header.end(), lower_case_name.begin(), lower_case_name.end(),
                    [](char letter, char expected) {
                      return (letter >= 'A' && letter <= 'Z' ? letter + 32 : letter) == expected;
                    });
}

Status CheckOptions(const ProviderOptions& options) {
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

}  // namespace

Result<std::unique_ptr<OpenAiModel>> OpenAiModel::Create(
    ProviderOptions options, std::shared_ptr<const net::HttpClient> client) {
  AG_RETURN_IF_ERROR(CheckOptions(options));
  return std::unique_ptr<OpenAiModel>(new OpenAiModel(std::move(options), std::move(client)));
}

OpenAiModel::OpenAiModel(ProviderOptions options, std::shared_ptr<const net::HttpClient> client)
    : options_(std::move(options)),
      client_(std::move(client)),
      url_(CompletionsUrl(options_.base_url)) {
  headers_ = {{"Content-Type", "application/json"},
              {"Accept", "text/event-stream, application/json"}};
  const bool own_authorization =
      std::any_of(options_.headers.begin(), options_.headers.end(),
                  [](const auto& header) { return IsNamed(header.first, "authorization"); });
  if (!options_.api_key.empty() && !own_authorization) {
    headers_.emplace_back("Authorization", "Bearer " + options_.api_key);
  }
  for (const auto& header : options_.headers) headers_.push_back(header);
}

Result<ModelReply> OpenAiModel::Generate(const ModelRequest& request,
                                         const runtime::Cancellation& cancellation,
                                         const std::function<Status(const ModelDelta&)>& on_delta) {
  AG_ASSIGN_OR_RETURN(const std::string body,
                      ChatRequestJson(request, options_.model, options_.parameters_json));
  for (int attempt = 0;; ++attempt) {
    net::HttpRequest http;
    http.url = url_;
    http.headers = headers_;
    http.body = body;
    http.connect_timeout = options_.connect_timeout;
    http.first_byte_timeout = options_.first_byte_timeout;
    http.idle_timeout = options_.idle_timeout;
    http.deadline = request.deadline;
    http.reply_bytes_max = options_.reply_bytes_max;

    ChatCall call(*client_, cancellation, on_delta, options_.api_key);
    Result<ModelReply> reply = call.Run(std::move(http));
    if (reply.ok() || !call.may_repeat() || attempt >= options_.retries_max) return reply;

    const std::chrono::milliseconds delay =
        call.retry_after().value_or(RetryDelay(attempt, RandomUint64()));
    const bool in_time =
        request.deadline == kNoDeadline || MonotonicClock::now() + delay < request.deadline;
    if (delay > kRetryAfterMax || !in_time) return reply;
    AG_RETURN_IF_ERROR(runtime::SleepFor(delay, &cancellation));
  }
}

}  // namespace agent_graph::models

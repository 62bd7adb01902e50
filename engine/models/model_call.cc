#include "models/model_call.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/free_memory.h"
#include "base/json.h"
#include "base/text.h"
#include "net/http_failure.h"
#include "net/retry.h"
#include "net/retry_after.h"
#include "net/url.h"
#include "runtime/unused_stack.h"

namespace agent_graph::models {
namespace {

constexpr std::string_view kEndOfStream = "[DONE]";
// The reply normally ends with its last event. Reading to its end makes the connection reusable.
constexpr std::chrono::milliseconds kDrainTimeMax{100};
// After the stop reason follow the counts of tokens and the mark of the end, or neither; with some
// servers also more text, because each of their chunks has a stop reason.
constexpr std::chrono::milliseconds kEndTimeMax{5'000};

constexpr size_t kRefusalBytesMax = 64 * 1024;
constexpr std::chrono::milliseconds kRefusalTimeMax{5'000};
constexpr size_t kRefusalTextBytesMax = 300;
constexpr size_t kMessageBytesMax = 400;

// "error.message" in the provider's JSON, which may be inside an array (Gemini); empty if the body
// is anything else, e.g. HTML.
std::string ErrorText(const std::string& body) {
  const Result<json> parsed = ParseJson(body);
  if (!parsed.ok()) return {};
  const json& object = parsed->is_array() && !parsed->empty() ? (*parsed)[0] : *parsed;
  if (!object.is_object()) return {};
  const auto error = object.find("error");
  if (error == object.end()) return {};
  const json* text = &*error;
  if (error->is_object()) {
    const auto message = error->find("message");
    if (message == error->end()) return {};
    text = &*message;
  }
  return text->is_string() ? text->get<std::string>() : std::string();
}

bool HasPath(const std::string& base_url) {
  const std::optional<net::Url> parts = net::ParseUrl(base_url);
  return !parts || parts->path != "/";
}

// The address of a call for the log: without a query and a password.
std::string LoggedAddress(const std::string& url) {
  const std::optional<net::Url> parts = net::ParseUrl(url);
  if (!parts) return "no address";
  return parts->scheme + "://" + net::HostHeader(*parts) +
         parts->path.substr(0, parts->path.find('?'));
}

}  // namespace

ModelCall::ModelCall(const net::HttpClient& client, const runtime::Cancellation& cancellation,
                     const std::function<Status(const ModelDelta&)>& on_delta,
                     const ProviderOptions& provider, WireRequest& wire, ReplyBuilder& builder)
    : client_(client),
      cancellation_(cancellation),
      on_delta_(on_delta),
      provider_(provider),
      wire_(wire),
      builder_(builder) {}

Status ModelCall::Start(net::HttpRequest&& request) {
  event_bytes_max_ = request.reply_bytes_max;
  Result<std::unique_ptr<net::HttpCall>> call = client_.Start(std::move(request), cancellation_);
  if (!call.ok()) return TransportStatus(call.status());
  call_ = *std::move(call);
  return Status::Ok();
}

Result<ModelReply> ModelCall::Read() {
  return Conclude(Fill());
}

[[gnu::noinline]] Result<ModelReply> ModelCall::Conclude(const Status& filled) {
  sends_ = call_->sends();
  if (!filled.ok()) return WithoutSecret(filled);
  Result<ModelReply> reply = builder_.Finish(marked_end_);
  if (!reply.ok()) return WithoutSecret(reply.status());
  return reply;
}

[[gnu::noinline]] Status ModelCall::Fill() {
  // Most of a run's time is spent here, and what came before it went deeper.
  runtime::ReleaseUnusedStack();
  const Result<Form> form = ReadForm();
  if (!form.ok()) return form.status();
  return *form == Form::kWhole ? ReadWhole() : ReadStream();
}

[[gnu::noinline]] Result<ModelCall::Form> ModelCall::ReadForm() {
  const Result<net::HttpHead> head = call_->ReadHead();
  if (!head.ok()) return LostReply(head.status());
  was_answered_ = true;
  if (head->status != 200) return RefusalOf(*head);
  const std::string_view type = head->Header("content-type");
  if (type.find("json") != std::string_view::npos) return Form::kWhole;
  if (type.find("html") != std::string_view::npos) {
    return WithAdvice(Status(StatusCode::kModel, "the model provider answered with HTML"),
                      "base_url");
  }
  return Form::kStream;
}

[[gnu::noinline]] Status ModelCall::ReadStream() {
  net::SseParser parser(event_bytes_max_);
  for (;;) {
    Result<std::string> piece = call_->Read();
    if (!piece.ok()) return builder_.complete() ? Status::Ok() : LostReply(piece.status());
    const bool last = piece->empty();
    last ? parser.Finish() : parser.Feed(std::move(*piece));
    Status taken = TakeEvents(parser, last);
    if (last || marked_end_ || !taken.ok()) return taken;
    if (builder_.complete() && !MayAwaitEnd()) return Status::Ok();
  }
}

bool ModelCall::MayAwaitEnd() {
  const Deadline now = MonotonicClock::now();
  if (end_by_ == kNoDeadline) end_by_ = now + std::min(kEndTimeMax, provider_.idle_timeout);
  if (now >= end_by_) return false;
  call_->SetIdleTimeout(std::chrono::ceil<std::chrono::milliseconds>(end_by_ - now));
  return true;
}

[[gnu::noinline]] Status ModelCall::TakeEvents(net::SseParser& parser, bool last) {
  net::SseEvent event;
  for (;;) {
    const Result<bool> next = parser.Next(event);
    if (!next.ok()) {
      return Status(StatusCode::kModel,
                    "the model provider's stream is broken: " + next.status().message());
    }
    if (!*next) return Status::Ok();
    const bool is_end = event.data == kEndOfStream;
    if (!is_end && IsBlank(event.data)) continue;
    if (!is_end) {
      Status status = Deliver(event.data);
      // An incomplete last line is treated as a cut stream, not as malformed JSON.
      if (last && !status.ok() && builder_.failed_malformed()) return Status::Ok();
      if (!status.ok()) return status;
    }
    if (is_end || builder_.ended()) {
      marked_end_ = true;
      call_->Drain(kDrainTimeMax);
      return Status::Ok();
    }
  }
}

[[gnu::noinline]] Status ModelCall::ReadWhole() {
  std::string body;
  for (;;) {
    const Result<std::string> piece = call_->Read();
    if (!piece.ok()) return LostReply(piece.status());
    if (piece->empty()) break;
    ModelDelta arrived;
    arrived.hidden_bytes = piece->size();
    AG_RETURN_IF_ERROR(on_delta_(arrived));
    body += *piece;
  }
  AG_RETURN_IF_ERROR(Deliver(body, body.size()));
  marked_end_ = true;
  return Status::Ok();
}

Status ModelCall::Deliver(std::string_view json, size_t counted_bytes) {
  Result<ModelDelta> delta = builder_.Add(json);
  if (!delta.ok()) {
    may_repeat_ = !delivered_ && builder_.failure_may_pass();
    return delta.status();
  }
  if (delta->bytes() > 0) end_by_ = kNoDeadline;
  const bool adds_text = !delta->text.empty() || !delta->reasoning.empty();
  delta->hidden_bytes -= std::min(delta->hidden_bytes, counted_bytes);
  if (!adds_text && !delta->usage && delta->hidden_bytes == 0) return Status::Ok();
  if (adds_text && !delivered_) {
    delivered_ = true;
    FreeMemory(wire_.body);
  }
  return on_delta_(*delta);
}

Status ModelCall::RefusalOf(const net::HttpHead& head) {
  may_repeat_ = net::IsRetryable(head.status);
  retry_after_ = net::ParseRetryAfter(head.Header("retry-after"), UnixMicros() / kMicrosPerSecond);
  std::string text = "the model provider answered HTTP " + std::to_string(head.status);
  call_->LimitDeadline(DeadlineAfter(kRefusalTimeMax));
  const Result<std::string> body = call_->ReadRest(kRefusalBytesMax);
  if (!body.ok() && body.status().code() == StatusCode::kCancelled) return body.status();
  std::string reason = body.ok() ? ErrorText(*body) : std::string();
  // Before the text is cut: it could end with a part of a secret.
  BlotOut(SecretsOf(provider_), reason);
  reason = OneLine(reason, kRefusalTextBytesMax);
  // Texts about a credential are only for the operator.
  if (head.status == 401 || head.status == 403) {
    return WithAdvice(Status(StatusCode::kModel, text).WithDetail(reason), "api_key");
  }
  Status refusal(StatusCode::kModel, reason.empty() ? text : text + ": " + reason);
  if (head.status != 404) return refusal;
  return WithAdvice(refusal, HasPath(provider_.base_url)
                                 ? "model and base_url"
                                 : "model and base_url, which may lack a path like /v1");
}

[[gnu::noinline]] Status ModelCall::LostReply(const Status& status) {
  may_repeat_ = !delivered_ && status.code() == StatusCode::kUnavailable;
  return TransportStatus(status);
}

Status ModelCall::TransportStatus(const Status& status) const {
  if (status.code() == StatusCode::kCancelled || status.code() == StatusCode::kDeadlineExceeded ||
      status.code() == StatusCode::kInternal) {
    return status;
  }
  const bool is_certificate =
      status.message() == net::StatusOf(net::HttpFailure::kCertificate).message();
  return WithAdvice(Status(StatusCode::kModel, "the model provider failed: " + status.message())
                        .WithDetail(status.detail()),
                    is_certificate ? "base_url and the server's certificate; SSL_CERT_FILE may "
                                     "name the one of a private authority"
                                   : "base_url, and that its server runs");
}

Status ModelCall::WithAdvice(Status status, std::string_view what) const {
  std::string detail = status.detail();
  if (!detail.empty()) detail += "; ";
  detail.append("asked ").append(LoggedAddress(wire_.url)).append("; check ").append(what);
  return status.WithDetail(std::move(detail));
}

Status ModelCall::WithoutSecret(const Status& status) const {
  std::string message = status.message();
  std::string detail = status.detail();
  const std::vector<std::string> secrets = SecretsOf(provider_);
  BlotOut(secrets, message);
  BlotOut(secrets, detail);
  message.resize(CutAtCharacter(message, kMessageBytesMax).size());
  return Status(status.code(), std::move(message)).WithDetail(std::move(detail));
}

}  // namespace agent_graph::models

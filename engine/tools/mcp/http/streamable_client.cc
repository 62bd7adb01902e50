#include "tools/mcp/streamable_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/environment.h"
#include "base/json.h"
#include "net/sse.h"
#include "runtime/runtime.h"

namespace agent_graph::tools::mcp {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kConnectTimeout{5'000};
constexpr std::chrono::hours kNoTimeout{24};  // the deadline alone counts
constexpr std::chrono::milliseconds kAnswerTimeout{5'000};
constexpr std::chrono::milliseconds kDrainPatience{100};
constexpr size_t kRefusalBytesMax = 4096;
constexpr size_t kSessionIdBytesMax = 1024;

Status Unavailable(std::string message) {
  return Status(StatusCode::kUnavailable, std::move(message));
}

}  // namespace

StreamableClient::StreamableClient(Options options, std::shared_ptr<const net::HttpClient> http)
    : options_(std::move(options)), http_(std::move(http)) {}

bool StreamableClient::wants_listener() const {
  std::lock_guard lock(mutex_);
  return session_ != nullptr && session_ != silent_session_ && session_->facts.announces_changes;
}

Result<StreamableClient::SessionPtr> StreamableClient::Connect(const Patience& patience) {
  {
    std::lock_guard lock(mutex_);
    if (session_ != nullptr) return session_;
  }
  AG_ASSIGN_OR_RETURN(SessionPtr session, Initialize(patience));
  {
    std::lock_guard lock(mutex_);
    if (session_ != nullptr) return session_;  // another fiber was faster
    session_ = session;
  }
  return session;
}

void StreamableClient::Forget(const SessionPtr& session) {
  {
    std::lock_guard lock(mutex_);
    if (session_ != session) return;
    session_ = nullptr;
  }
  options_.on_tools_changed();
}

bool StreamableClient::IsLost(const Session* session, int http_status) {
  // 404 is what the protocol asks for; many servers answer 400 to a session they do not know.
  return session != nullptr && !session->id.empty() && (http_status == 404 || http_status == 400);
}

Result<StreamableClient::SessionPtr> StreamableClient::Initialize(const Patience& patience) {
  auto session = std::make_shared<Session>();
  bool lost = false;
  AG_ASSIGN_OR_RETURN(const json result,
                      RequestIn(nullptr, next_id_++, "initialize", InitializeParams(), patience,
                                lost, &session->id));
  AG_ASSIGN_OR_RETURN(session->facts, ReadInitializeResult(result));
  AG_RETURN_IF_ERROR(
      Notify(*session, MakeNotification("notifications/initialized", nullptr), patience));
  return SessionPtr(std::move(session));
}

Result<json> StreamableClient::Request(const char* method, const json& params,
                                       const Patience& patience) {
  AG_ASSIGN_OR_RETURN(SessionPtr session, Connect(patience));
  const int64_t id = next_id_++;
  bool lost = false;
  Result<json> result = RequestIn(session.get(), id, method, params, patience, lost);
  if (!lost) {
    const bool gave_up = !result.ok() && (result.status().code() == StatusCode::kCancelled ||
                                          result.status().code() == StatusCode::kDeadlineExceeded);
    if (gave_up) TellCancelled(session, id);
    return result;
  }
  // The server did not accept the request, so that making it again repeats nothing.
  Forget(session);
  AG_ASSIGN_OR_RETURN(session, Connect(patience));
  return RequestIn(session.get(), next_id_++, method, params, patience, lost);
}

net::HttpRequest StreamableClient::MakeHttpRequest(const Session* session,
                                                   const Patience& patience) const {
  net::HttpRequest request;
  request.url = options_.url;
  request.headers = options_.headers;
  request.headers.emplace_back("Accept", "application/json, text/event-stream");
  if (session != nullptr) {
    if (!session->id.empty()) request.headers.emplace_back("Mcp-Session-Id", session->id);
    request.headers.emplace_back("MCP-Protocol-Version", session->facts.protocol_version);
  }
  request.connect_timeout = kConnectTimeout;
  request.first_byte_timeout = kNoTimeout;
  request.idle_timeout = kNoTimeout;
  request.deadline = patience.deadline;
  request.reply_bytes_max = kReplyBytesMax;
  return request;
}

Result<json> StreamableClient::RequestIn(const Session* session, int64_t id, const char* method,
                                         const json& params, const Patience& patience,
                                         bool& session_lost, std::string* new_session_id) {
  const json message = MakeRequest(id, method, params);
  net::HttpRequest request = MakeHttpRequest(session, patience);
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = DumpJson(message);
  request.once = std::string_view(method) == kCallTool;
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<net::HttpCall> call,
                      http_->Start(std::move(request), patience.cancellation));
  AG_ASSIGN_OR_RETURN(const net::HttpHead* head, call->ReadHead());
  session_lost = IsLost(session, head->status);
  if (head->status != 200) return Refusal(*call, head->status);
  if (new_session_id != nullptr) {
    *new_session_id = head->Header("mcp-session-id");
    if (new_session_id->size() > kSessionIdBytesMax)
      return Unavailable("the session id is too long");
  }
  return ReadReply(*call, *head, id, session, patience);
}

Status StreamableClient::Notify(const Session& session, const json& message,
                                const Patience& patience) {
  net::HttpRequest request = MakeHttpRequest(&session, patience);
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = DumpJson(message);
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<net::HttpCall> call,
                      http_->Start(std::move(request), patience.cancellation));
  AG_ASSIGN_OR_RETURN(const net::HttpHead* head, call->ReadHead());
  if (head->status < 200 || head->status > 299) return Refusal(*call, head->status);
  call->Drain(kDrainPatience);
  return Status::Ok();
}

Status StreamableClient::Refusal(net::HttpCall& call, int status) const {
  std::string text = "the server answered HTTP " + std::to_string(status);
  call.LimitDeadline(DeadlineAfter(kAnswerTimeout));
  const Result<std::string> body = call.ReadRest(kRefusalBytesMax);
  const Result<json> parsed = ParseJson(body.ok() ? *body : "");
  if (parsed.ok() && parsed->is_object() && parsed->contains("error")) {
    std::string reason = ErrorText(parsed->at("error"));
    BlotOut(options_.secrets, reason);
    if (!reason.empty()) text += ": " + reason;
  }
  return Unavailable(std::move(text));
}

Result<json> StreamableClient::ReadReply(net::HttpCall& call, const net::HttpHead& head, int64_t id,
                                         const Session* session, const Patience& patience) {
  if (head.Header("content-type").find("text/event-stream") != std::string_view::npos) {
    return ReadStream(call, id, session, patience);
  }
  std::string body;
  for (;;) {
    AG_ASSIGN_OR_RETURN(const std::string piece, call.Read());
    if (piece.empty()) break;
    body += piece;
  }
  Result<json> reply = ParseJson(body);
  if (!reply.ok() || !reply->is_object()) return Unavailable("the server's reply is not valid");
  // A refusal may not have understood which request it was.
  const json replied = reply->value("id", json());
  if (replied != id && !(replied.is_null() && reply->contains("error"))) {
    return Unavailable("the server's reply is one to another request");
  }
  return ReadResult(*std::move(reply));
}

Result<json> StreamableClient::ReadStream(net::HttpCall& call, int64_t id, const Session* session,
                                          const Patience& patience) {
  net::SseParser parser(kReplyBytesMax);
  for (bool end = false; !end;) {
    AG_ASSIGN_OR_RETURN(std::string piece, call.Read());
    end = piece.empty();
    end ? parser.Finish() : parser.Feed(std::move(piece));
    net::SseEvent event;
    for (;;) {
      AG_ASSIGN_OR_RETURN(const bool found, parser.Next(event));
      if (!found) break;
      if (event.data.empty()) continue;
      Result<json> message = ParseJson(event.data);
      if (!message.ok() || !message->is_object()) {
        return Unavailable("the server's stream is not valid");
      }
      if (message->contains("method")) {
        Receive(*message, session, patience);
      } else if (message->value("id", json()) == id) {
        call.Drain(kDrainPatience);
        return ReadResult(*std::move(message));
      }
    }
  }
  return Unavailable("the server's stream ended without a reply");
}

Result<json> StreamableClient::ReadResult(json reply) const {
  Result<json> result = ResultOf(std::move(reply));
  if (result.ok()) return result;
  std::string text = result.status().message();
  BlotOut(options_.secrets, text);
  return Status(result.status().code(), std::move(text));
}

void StreamableClient::Receive(const json& message, const Session* session,
                               const Patience& patience) {
  const json& method = message["method"];
  const auto id = message.find("id");
  if (id == message.end()) {
    if (method == "notifications/tools/list_changed") options_.on_tools_changed();
    return;
  }
  if (session == nullptr) return;
  // The server's to worry about when it does not arrive.
  (void)Notify(*session, MakeAnswer(message),
               {patience.cancellation, std::min(patience.deadline, DeadlineAfter(kAnswerTimeout))});
}

Status StreamableClient::Listen(const Patience& patience) {
  AG_ASSIGN_OR_RETURN(const SessionPtr session, Connect(patience));
  net::HttpRequest request = MakeHttpRequest(session.get(), patience);
  request.method = "GET";
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<net::HttpCall> call,
                      http_->Start(std::move(request), patience.cancellation));
  AG_ASSIGN_OR_RETURN(const net::HttpHead* head, call->ReadHead());
  if (head->status != 200) return RefusedListener(*call, head->status, session);
  net::SseParser parser(kReplyBytesMax);
  for (;;) {
    Result<std::string> piece = call->Read();
    if (piece.status().code() == StatusCode::kCancelled) return piece.status();
    if (!piece.ok()) options_.on_tools_changed();  // perhaps: it was not heard to the end
    if (!piece.ok() || piece->empty()) return Status::Ok();
    parser.Feed(*std::move(piece));
    net::SseEvent event;
    for (;;) {
      AG_ASSIGN_OR_RETURN(const bool found, parser.Next(event));
      if (!found) break;
      const Result<json> message = ParseJson(event.data);
      if (message.ok() && message->is_object() && message->contains("method")) {
        Receive(*message, session.get(), patience);
      }
    }
  }
}

Status StreamableClient::RefusedListener(net::HttpCall& call, int http_status,
                                         const SessionPtr& session) {
  if (http_status == 405 || (http_status == 404 && session->id.empty())) {
    std::lock_guard lock(mutex_);
    silent_session_ = session;
    return Status(StatusCode::kNotFound, "the server sends nothing by itself");
  }
  if (IsLost(session.get(), http_status)) Forget(session);
  return Refusal(call, http_status);
}

// The caller is gone already: a fiber of its own says so.
void StreamableClient::TellCancelled(const SessionPtr& session, int64_t id) {
  runtime::Runtime* const runtime = runtime::Runtime::Current();
  if (runtime == nullptr) return;
  const json params = {{"requestId", id}, {"reason", "the caller gave up"}};
  std::string text = DumpJson(MakeNotification("notifications/cancelled", params));
  runtime->Spawn(
      [self = shared_from_this(), session, text = std::move(text)] {
        const runtime::Cancellation never;
        Result<json> message = ParseJson(text);
        if (message.ok()) {
          (void)self->Notify(*session, *message, {never, DeadlineAfter(kAnswerTimeout)});
        }
      },
      /*here=*/true);
}

void StreamableClient::End(const Patience& patience) {
  SessionPtr session;
  {
    std::lock_guard lock(mutex_);
    session = std::exchange(session_, nullptr);
  }
  if (session == nullptr || session->id.empty()) return;
  net::HttpRequest request = MakeHttpRequest(session.get(), patience);
  request.method = "DELETE";
  Result<std::unique_ptr<net::HttpCall>> call =
      http_->Start(std::move(request), patience.cancellation);
  if (call.ok()) (void)(*call)->ReadHead();
}

}  // namespace agent_graph::tools::mcp

#include "tools/mcp/http/transport.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/json.h"
#include "runtime/large_work.h"
#include "runtime/runtime.h"
#include "tools/mcp/http/parameter_headers.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{5'000};
constexpr std::chrono::hours kNoTimeout{24};  // effectively none: only the deadline applies
constexpr std::chrono::milliseconds kRefusalTimeout{5'000};
constexpr size_t kRefusalBytesMax = 16 * 1024;
constexpr size_t kSessionIdBytesMax = 1024;
constexpr int kTokensMax = 3;  // tokens tried per request: none, one, one with more scopes

// True if the same GET may succeed later. 409: the server has not noticed yet that the stream's
// previous connection has ended.
bool IsPassing(int status) {
  return status == 409 || status == 429 || status >= 500;
}

}  // namespace

Transport::Transport(Options options, std::shared_ptr<const net::HttpClient> http)
    : options_(std::move(options)), http_(std::move(http)) {}

net::HttpRequest Transport::MakeRequest(const Connection* connection,
                                        const WaitOptions& wait) const {
  net::HttpRequest request;
  request.url = options_.url;
  request.headers = options_.headers;
  request.headers.emplace_back("Accept", "application/json, text/event-stream");
  if (connection != nullptr) {
    if (!connection->session_id.empty()) {
      request.headers.emplace_back("Mcp-Session-Id", connection->session_id);
    }
    request.headers.emplace_back("MCP-Protocol-Version", connection->facts.revision);
  }
  request.connect_timeout = kConnectTimeout;
  request.first_byte_timeout = kNoTimeout;
  request.idle_timeout = kNoTimeout;
  request.deadline = wait.deadline;
  // Each message is limited where it is read; a stream may have many.
  request.reply_bytes_max = std::numeric_limits<size_t>::max();
  return request;
}

net::HttpRequest Transport::MakePost(const Connection* connection, const json& message,
                                     const WaitOptions& wait) const {
  net::HttpRequest request = MakeRequest(connection, wait);
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = DumpJson(message);
  return request;
}

Result<Transport::Stream> Transport::Start(net::HttpRequest request,
                                           const WaitOptions& wait) const {
  if (options_.authorizer != nullptr) return StartAuthorized(request, wait);
  Stream stream;
  AG_ASSIGN_OR_RETURN(stream.call, http_->Start(std::move(request), wait.cancellation));
  AG_ASSIGN_OR_RETURN(stream.head, stream.call->ReadHead());
  return stream;
}

// Requests are repeated with another token: a server that refuses a token has not executed them.
Result<Transport::Stream> Transport::StartAuthorized(const net::HttpRequest& request,
                                                     const WaitOptions& wait) const {
  AG_ASSIGN_OR_RETURN(oauth::TokenPtr token, options_.authorizer->Current(wait));
  for (int tokens = 1;; ++tokens) {
    net::HttpRequest authorized = request;
    if (token != nullptr) authorized.headers.emplace_back("Authorization", "Bearer " + token->text);
    Stream stream;
    AG_ASSIGN_OR_RETURN(stream.call, http_->Start(std::move(authorized), wait.cancellation));
    AG_ASSIGN_OR_RETURN(stream.head, stream.call->ReadHead());
    const oauth::Challenge challenge = oauth::ChallengeOf(stream.head);
    const int status = stream.head.status;
    const bool wants_another =
        status == 401 || (status == 403 && challenge.error == "insufficient_scope");
    if (token != nullptr && status != 401) options_.authorizer->Accept(token);
    if (!wants_another || tokens == kTokensMax) return stream;
    stream = {};
    AG_ASSIGN_OR_RETURN(token, options_.authorizer->Another(token, challenge, wait));
  }
}

Result<Transport::Stream> Transport::Post(const Connection* connection, int64_t id,
                                          const Outgoing& outgoing, const WaitOptions& wait) const {
  const bool stateless = connection != nullptr && connection->facts.era == Era::kStateless;
  json params = outgoing.params;
  if (stateless) {
    AddRequestMeta(params, outgoing.may_pause ? ElicitationCapability() : json::object());
  }
  net::HttpRequest request =
      MakePost(connection, mcp::MakeRequest(id, outgoing.method, params), wait);
  if (stateless) {
    request.headers.emplace_back("Mcp-Method", outgoing.method);
    if (!outgoing.name.empty()) {
      request.headers.emplace_back("Mcp-Name", HeaderText(outgoing.name));
    }
    request.headers.insert(request.headers.end(), outgoing.headers.begin(), outgoing.headers.end());
  }
  request.once = std::string_view(outgoing.method) == kCallTool;
  return Start(std::move(request), wait);
}

Result<HttpReply> Transport::Request(const Connection* connection, int64_t id,
                                     const Outgoing& outgoing, const StreamHandlers& handlers,
                                     const WaitOptions& wait) const {
  AG_ASSIGN_OR_RETURN(Stream stream, Post(connection, id, outgoing, wait));
  HttpReply reply;
  reply.status = stream.head.status;
  reply.session_id = stream.head.Header("mcp-session-id");
  if (reply.session_id.size() > kSessionIdBytesMax) {
    return Unavailable("the session id is too long");
  }
  if (reply.status != 200) {
    reply.rpc = ReadRefusal(*stream.call);
    return reply;
  }
  if (IsEventStream(stream.head)) {
    AG_ASSIGN_OR_RETURN(reply.rpc,
                        ReadStreamed(std::move(stream), {}, connection, id, handlers, wait));
  } else {
    AG_ASSIGN_OR_RETURN(reply.rpc, ReadPlain(*stream.call, id, handlers.memory));
  }
  return reply;
}

Result<RpcReply> Transport::ReadPlain(net::HttpCall& call, int64_t id, ReplyMemory* memory) const {
  ReplySize size(memory);
  std::string body;
  for (;;) {
    AG_ASSIGN_OR_RETURN(const std::string piece, call.Read());
    if (piece.empty()) break;
    if (body.size() + piece.size() > kReplyBytesMax) {
      return Status(StatusCode::kResourceExhausted, "the server's reply is larger than " +
                                                        std::to_string(kReplyBytesMax) + " bytes");
    }
    AG_RETURN_IF_ERROR(size.Add(piece));
    body += piece;
  }
  Result<json> message = json();
  runtime::RunSized(body.size(), [&] { message = ParseJson(body); });
  if (!message.ok() || !message->is_object()) {
    return Unavailable("the server's reply is not valid");
  }
  // An error reply may have no id, if the server could not read the request's id.
  const json replied = message->value("id", json());
  if (replied != id && !(replied.is_null() && message->contains("error"))) {
    return Unavailable("the server's reply answers another request");
  }
  return Cleaned(ReadReply(*std::move(message)));
}

Result<RpcReply> Transport::Resume(const Connection& connection, int64_t id, StreamPlace place,
                                   const StreamHandlers& handlers, const WaitOptions& wait) const {
  return ReadStreamed({}, std::move(place), &connection, id, handlers, wait);
}

// Resumes a session's stream that ended behind an event with an id. Only the missing reply is
// requested; the request itself is never repeated.
Result<RpcReply> Transport::ReadStreamed(Stream stream, StreamPlace place,
                                         const Connection* connection, int64_t id,
                                         const StreamHandlers& handlers,
                                         const WaitOptions& wait) const {
  const bool may_resume = connection != nullptr && connection->facts.era == Era::kSession;
  bool at_once = stream.call == nullptr;
  ResumePolicy policy;
  for (;;) {
    if (stream.call != nullptr) {
      AG_ASSIGN_OR_RETURN(EventsRead read, ReadEvents(*stream.call, id, handlers, place));
      if (read.end == EventsRead::End::kReply) {
        return Cleaned(ReadReply(std::move(read.reply)));
      }
      if (read.end == EventsRead::End::kStopped) return RpcReply{.stopped = true};
      stream = {};
    }
    const auto delay = may_resume ? policy.Next(place) : std::nullopt;
    if (!delay) {
      return place.failure.ok() ? Unavailable("the server's stream ended without a reply")
                                : place.failure;
    }
    if (!std::exchange(at_once, false)) {
      if (DeadlineAfter(*delay) >= wait.deadline) {
        return Unavailable(
            "the server's stream ended without a reply, and may be resumed only "
            "after the call's deadline");
      }
      AG_RETURN_IF_ERROR(runtime::SleepFor(*delay, &wait.cancellation));
    }
    Result<Stream> again = Get(*connection, place.last_event_id, wait);
    if (!again.ok()) {
      if (again.status().code() != StatusCode::kUnavailable) return again.status();
      place.failure = again.status();
    } else if (again->head.status == 200 && IsEventStream(again->head)) {
      stream = *std::move(again);
    } else {
      place.failure = Refusal(*again->call, again->head.status);
      if (!IsPassing(again->head.status)) {
        return Unavailable("the server's stream ended without a reply and cannot be resumed: " +
                           place.failure.message());
      }
    }
  }
}

Result<Transport::Stream> Transport::Get(const Connection& connection,
                                         const std::string& last_event_id,
                                         const WaitOptions& wait) const {
  net::HttpRequest request = MakeRequest(&connection, wait);
  request.method = "GET";
  if (!last_event_id.empty()) request.headers.emplace_back("Last-Event-ID", last_event_id);
  return Start(std::move(request), wait);
}

Status Transport::Send(const Connection& connection, const json& message,
                       const WaitOptions& wait) const {
  AG_ASSIGN_OR_RETURN(Stream stream, Start(MakePost(&connection, message, wait), wait));
  const int status = stream.head.status;
  if (status < 200 || status > 299) return Refusal(*stream.call, status);
  stream.call->Drain(kDrainTime);
  return Status::Ok();
}

void Transport::EndSession(const Connection& connection, const WaitOptions& wait) const {
  net::HttpRequest request = MakeRequest(&connection, wait);
  request.method = "DELETE";
  // Errors are ignored: the server's session will expire.
  (void)Start(std::move(request), wait);
}

RpcReply Transport::ReadRefusal(net::HttpCall& call) const {
  RpcReply reply;
  call.LimitDeadline(DeadlineAfter(kRefusalTimeout));
  const Result<std::string> body = call.ReadRest(kRefusalBytesMax);
  const Result<json> parsed = ParseJson(body.ok() ? *body : "");
  if (parsed.ok() && parsed->is_object() && parsed->contains("error")) {
    reply.error = ReadError(parsed->at("error"));
    reply.error->CleanMessage(secrets());
  }
  return reply;
}

Status Transport::Refusal(int status, const RpcReply& rpc) const {
  std::string text = "the server answered HTTP " + std::to_string(status);
  if (rpc.error && !rpc.error->message.empty()) text += ": " + rpc.error->message;
  return Unavailable(std::move(text));
}

Status Transport::Refusal(net::HttpCall& call, int status) const {
  return Refusal(status, ReadRefusal(call));
}

Result<RpcReply> Transport::Cleaned(Result<RpcReply> reply) const {
  if (reply.ok() && reply->error) reply->error->CleanMessage(secrets());
  return reply;
}

std::vector<std::string> Transport::secrets() const {
  std::vector<std::string> secrets = options_.secrets;
  if (options_.authorizer != nullptr) {
    const std::vector<std::string> tokens = options_.authorizer->secrets();
    secrets.insert(secrets.end(), tokens.begin(), tokens.end());
  }
  return secrets;
}

}  // namespace agent_graph::tools::mcp

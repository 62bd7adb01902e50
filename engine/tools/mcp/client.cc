#include "tools/mcp/client.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent_graph/version.h"
#include "base/environment.h"
#include "base/json.h"
#include "net/sse.h"
#include "runtime/runtime.h"

namespace agent_graph::tools::mcp {
namespace {

using nlohmann::json;

// The newest version this client speaks; a server may answer with an older one.
constexpr char kProtocolVersion[] = "2025-06-18";
constexpr std::string_view kProtocolVersions[] = {"2025-11-25", kProtocolVersion, "2025-03-26",
                                                  "2024-11-05"};
constexpr int kMethodNotFound = -32601;
constexpr std::chrono::milliseconds kConnectTimeout{5'000};
constexpr std::chrono::hours kNoTimeout{24};  // the deadline alone counts
constexpr std::chrono::milliseconds kAnswerTimeout{5'000};
constexpr std::chrono::milliseconds kDrainPatience{100};
constexpr size_t kRefusalBytesMax = 4096;
constexpr size_t kErrorTextBytesMax = 500;
constexpr size_t kSessionIdBytesMax = 1024;

Status Unavailable(std::string message) {
  return Status(StatusCode::kUnavailable, std::move(message));
}

json MakeMessage(const char* method, const json& params) {
  json message = {{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) message["params"] = params;
  return message;
}

// error.message, cut at a character.
std::string ErrorText(const json& error) {
  std::string text = error.is_object() ? error.value("message", json("unknown error")).dump() : "";
  if (error.is_object() && error.contains("message") && error["message"].is_string()) {
    text = error["message"].get<std::string>();
  }
  if (text.size() > kErrorTextBytesMax) {
    size_t end = kErrorTextBytesMax;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
  }
  return text;
}

}  // namespace

Client::Client(Options options, std::shared_ptr<const net::HttpClient> http)
    : options_(std::move(options)), http_(std::move(http)) {}

Result<std::vector<json>> Client::ListTools(const Patience& patience) {
  std::vector<json> tools;
  json params = json::object();
  for (size_t page = 0; page < kListPagesMax; ++page) {
    AG_ASSIGN_OR_RETURN(json result, Request("tools/list", params, patience));
    const auto list = result.find("tools");
    if (list == result.end() || !list->is_array()) {
      return Unavailable("the list of tools has no \"tools\"");
    }
    for (json& tool : *list) tools.push_back(std::move(tool));
    const auto cursor = result.find("nextCursor");
    if (cursor == result.end() || !cursor->is_string()) return tools;
    params["cursor"] = *cursor;
  }
  return Status(StatusCode::kResourceExhausted,
                "the list of tools has more than " + std::to_string(kListPagesMax) + " pages");
}

Result<json> Client::CallTool(const std::string& name, const json& arguments,
                              const Patience& patience) {
  return Request("tools/call", {{"name", name}, {"arguments", arguments}}, patience);
}

bool Client::announces_changes() const {
  std::lock_guard lock(mutex_);
  return session_ != nullptr && session_->announces_changes;
}

Result<Client::SessionPtr> Client::Connect(const Patience& patience) {
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

void Client::Forget(const SessionPtr& session) {
  {
    std::lock_guard lock(mutex_);
    if (session_ != session) return;
    session_ = nullptr;
  }
  options_.on_tools_changed();
}

Result<Client::SessionPtr> Client::Initialize(const Patience& patience) {
  const std::string version = std::to_string(kSdkVersion / 10000) + "." +
                              std::to_string(kSdkVersion / 100 % 100) + "." +
                              std::to_string(kSdkVersion % 100);
  const json params = {{"protocolVersion", kProtocolVersion},
                       {"capabilities", json::object()},
                       {"clientInfo", {{"name", "agent-graph"}, {"version", version}}}};
  auto session = std::make_shared<Session>();
  bool lost = false;
  AG_ASSIGN_OR_RETURN(const json result, RequestIn(nullptr, next_id_++, "initialize", params,
                                                   patience, lost, &session->id));
  const auto spoken = result.find("protocolVersion");
  if (spoken == result.end() || !spoken->is_string()) {
    return Unavailable("the reply to \"initialize\" has no protocol version");
  }
  session->protocol_version = spoken->get<std::string>();
  if (std::find(std::begin(kProtocolVersions), std::end(kProtocolVersions),
                session->protocol_version) == std::end(kProtocolVersions)) {
    return Unavailable("the server speaks another version of the protocol");
  }
  const json::json_pointer changes("/capabilities/tools/listChanged");
  session->announces_changes = result.contains(changes) && result.at(changes) == true;
  AG_RETURN_IF_ERROR(Notify(*session, MakeMessage("notifications/initialized", nullptr), patience));
  return SessionPtr(std::move(session));
}

Result<json> Client::Request(const char* method, const json& params, const Patience& patience) {
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

net::HttpRequest Client::MakeRequest(const Session* session, const Patience& patience) const {
  net::HttpRequest request;
  request.url = options_.url;
  request.headers = options_.headers;
  request.headers.emplace_back("Accept", "application/json, text/event-stream");
  if (session != nullptr) {
    if (!session->id.empty()) request.headers.emplace_back("Mcp-Session-Id", session->id);
    request.headers.emplace_back("MCP-Protocol-Version", session->protocol_version);
  }
  request.connect_timeout = kConnectTimeout;
  request.first_byte_timeout = kNoTimeout;
  request.idle_timeout = kNoTimeout;
  request.deadline = patience.deadline;
  request.reply_bytes_max = kReplyBytesMax;
  return request;
}

Result<json> Client::RequestIn(const Session* session, int64_t id, const char* method,
                               const json& params, const Patience& patience, bool& session_lost,
                               std::string* new_session_id) {
  json message = MakeMessage(method, params);
  message["id"] = id;
  net::HttpRequest request = MakeRequest(session, patience);
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = DumpJson(message);
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<net::HttpCall> call,
                      http_->Start(std::move(request), patience.cancellation));
  AG_ASSIGN_OR_RETURN(const net::HttpHead* head, call->ReadHead());
  // 404 is what the protocol asks for; many servers answer 400 to a session they do not know.
  session_lost =
      session != nullptr && !session->id.empty() && (head->status == 404 || head->status == 400);
  if (head->status != 200) return Refusal(*call, head->status);
  if (new_session_id != nullptr) {
    *new_session_id = head->Header("mcp-session-id");
    if (new_session_id->size() > kSessionIdBytesMax)
      return Unavailable("the session id is too long");
  }
  return ReadReply(*call, *head, id, session, patience);
}

Status Client::Notify(const Session& session, const json& message, const Patience& patience) {
  net::HttpRequest request = MakeRequest(&session, patience);
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = DumpJson(message);
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<net::HttpCall> call,
                      http_->Start(std::move(request), patience.cancellation));
  AG_ASSIGN_OR_RETURN(const net::HttpHead* head, call->ReadHead());
  if (head->status < 200 || head->status > 299) return Refusal(*call, head->status);
  call->Drain(kDrainPatience);
  return Status::Ok();
}

Status Client::Refusal(net::HttpCall& call, int status) const {
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

Result<json> Client::ReadReply(net::HttpCall& call, const net::HttpHead& head, int64_t id,
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
  return ResultOf(*std::move(reply));
}

Result<json> Client::ReadStream(net::HttpCall& call, int64_t id, const Session* session,
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
        return ResultOf(*std::move(message));
      }
    }
  }
  return Unavailable("the server's stream ended without a reply");
}

Result<json> Client::ResultOf(json reply) const {
  if (const auto error = reply.find("error"); error != reply.end()) {
    std::string text = ErrorText(*error);
    BlotOut(options_.secrets, text);
    return Status(StatusCode::kInvalidArgument, text.empty() ? "the server refused" : text);
  }
  const auto result = reply.find("result");
  if (result == reply.end() || !result->is_object()) {
    return Unavailable("the server's reply has no result");
  }
  return std::move(*result);
}

void Client::Receive(const json& message, const Session* session, const Patience& patience) {
  const json& method = message["method"];
  const auto id = message.find("id");
  if (id == message.end()) {
    if (method == "notifications/tools/list_changed") options_.on_tools_changed();
    return;
  }
  if (session == nullptr) return;
  json answer = {{"jsonrpc", "2.0"}, {"id", *id}};
  if (method == "ping") {
    answer["result"] = json::object();
  } else {
    answer["error"] = {{"code", kMethodNotFound}, {"message", "not supported by this client"}};
  }
  // The server's to worry about when it does not arrive.
  (void)Notify(*session, answer,
               {patience.cancellation, std::min(patience.deadline, DeadlineAfter(kAnswerTimeout))});
}

Status Client::Listen(const Patience& patience) {
  AG_ASSIGN_OR_RETURN(const SessionPtr session, Connect(patience));
  net::HttpRequest request = MakeRequest(session.get(), patience);
  request.method = "GET";
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<net::HttpCall> call,
                      http_->Start(std::move(request), patience.cancellation));
  AG_ASSIGN_OR_RETURN(const net::HttpHead* head, call->ReadHead());
  if (head->status == 404 && !session->id.empty()) {
    Forget(session);
    return Refusal(*call, head->status);
  }
  if (head->status != 200) {
    return Status(StatusCode::kNotFound, "the server sends nothing by itself");
  }
  net::SseParser parser(kReplyBytesMax);
  for (;;) {
    AG_ASSIGN_OR_RETURN(std::string piece, call->Read());
    if (piece.empty()) return Status::Ok();
    parser.Feed(std::move(piece));
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

// The caller is gone already: a fiber of its own says so.
void Client::TellCancelled(const SessionPtr& session, int64_t id) {
  runtime::Runtime* const runtime = runtime::Runtime::Current();
  if (runtime == nullptr) return;
  const json params = {{"requestId", id}, {"reason", "the caller gave up"}};
  std::string text = DumpJson(MakeMessage("notifications/cancelled", params));
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

void Client::End(const Patience& patience) {
  SessionPtr session;
  {
    std::lock_guard lock(mutex_);
    session = std::exchange(session_, nullptr);
  }
  if (session == nullptr || session->id.empty()) return;
  net::HttpRequest request = MakeRequest(session.get(), patience);
  request.method = "DELETE";
  Result<std::unique_ptr<net::HttpCall>> call =
      http_->Start(std::move(request), patience.cancellation);
  if (call.ok()) (void)(*call)->ReadHead();
}

}  // namespace agent_graph::tools::mcp

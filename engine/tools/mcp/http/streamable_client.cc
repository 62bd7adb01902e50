#include "tools/mcp/http/streamable_client.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "runtime/runtime.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr std::chrono::milliseconds kStreamAnswerTimeout{5'000};

// True if a server that does not support "server/discover" may reply with this status. Replies of
// proxies and requests for credentials do not show the server's era.
bool SuggestsSessions(int status) {
  return status != 401 && status != 403 && status != 407 && status != 429 &&
         (status <= 501 || status > 504);
}

// True if the server rejected a request unread because it does not know the connection.
bool IsLost(const Connection& connection, const HttpReply& reply) {
  const int64_t code = reply.rpc.error ? reply.rpc.error->code : 0;
  const bool was_read = code == kMethodNotFound || code == kInvalidParams;
  if (connection.facts.era == Era::kSession) {
    // The protocol requires 404; many servers reply 400 to an unknown session.
    return !connection.session_id.empty() &&
           (reply.status == 404 || (reply.status == 400 && !was_read));
  }
  if (reply.status != 400 && reply.status != 404 && reply.status != 405) return false;
  return !was_read && code != kHeaderMismatch && code != kMissingCapability;
}

// True if this client has ended the call: it was cancelled, took too long, or its reply is too
// large.
bool GaveUp(const Status& status) {
  return status.code() == StatusCode::kCancelled ||
         status.code() == StatusCode::kDeadlineExceeded ||
         status.code() == StatusCode::kResourceExhausted;
}

}  // namespace

StreamableClient::StreamableClient(Options options, std::shared_ptr<const net::HttpClient> http)
    : options_(std::move(options)),
      transport_(std::make_shared<const Transport>(options_.transport, std::move(http))) {}

bool StreamableClient::marks_headers() const {
  MutexLock lock(mutex_);
  return connection_ != nullptr && connection_->facts.era == Era::kStateless;
}

Result<StreamableClient::ConnectionPtr> StreamableClient::Connect(const WaitOptions& wait) {
  {
    MutexLock lock(mutex_);
    if (connection_ != nullptr) return connection_;
  }
  AG_ASSIGN_OR_RETURN(ConnectionPtr connection, Introduce(wait));
  {
    MutexLock lock(mutex_);
    if (connection_ == nullptr) {
      connection_ = connection;
      knows_sessions_ = connection->facts.era == Era::kSession;
      return connection;
    }
  }
  EndInBackground(connection);  // another fiber was faster
  return Connect(wait);
}

void StreamableClient::Forget(const ConnectionPtr& connection) {
  {
    MutexLock lock(mutex_);
    if (connection_ != connection) return;
    connection_ = nullptr;
  }
  options_.on_tools_changed();
}

// A server keeps its era: one that has answered "initialize" before is not probed again.
Result<StreamableClient::ConnectionPtr> StreamableClient::Introduce(const WaitOptions& wait) {
  bool discover = options_.eras.stateless;
  if (options_.eras.session) {
    MutexLock lock(mutex_);
    discover = discover && !knows_sessions_;
  }
  if (discover) {
    AG_ASSIGN_OR_RETURN(const std::optional<ServerFacts> facts, Discover(wait));
    if (facts) return std::make_shared<const Connection>(Connection{.facts = *facts});
    if (!options_.eras.session) {
      return Unavailable("the server does not speak " + std::string(kStatelessRevision));
    }
  }
  Result<ConnectionPtr> connection = Initialize(wait);
  if (!connection.ok()) {
    MutexLock lock(mutex_);
    knows_sessions_ = false;
  }
  return connection;
}

Result<std::optional<ServerFacts>> StreamableClient::Discover(const WaitOptions& wait) {
  const Connection probe{.facts = {.era = Era::kStateless, .revision = kStatelessRevision}};
  const Outgoing outgoing{.method = kDiscover};
  const StreamHandlers ignore{[](const json&, const StreamPlace&) { return true; }};
  for (bool again = false;; again = true) {
    const Result<HttpReply> reply = transport_->Request(&probe, next_id_++, outgoing, ignore, wait);
    if (!reply.ok()) return reply.status();
    if (reply->rpc.error && reply->rpc.error->code == kUnsupportedRevision) {
      const std::optional<Era> era = ChooseEra(SupportedRevisions(*reply->rpc.error));
      if (!era) return Unavailable("the server speaks another version of the protocol");
      if (*era == Era::kSession || again) return std::optional<ServerFacts>();
      continue;  // it supports this revision, whatever it rejected
    }
    if (reply->status != 200) {
      if (SuggestsSessions(reply->status)) return std::optional<ServerFacts>();
      return transport_->Refusal(reply->status, reply->rpc);
    }
    const Result<ServerFacts> facts =
        reply->rpc.error ? reply->rpc.error->ToStatus() : ReadDiscoverResult(reply->rpc.result);
    if (!facts.ok() || facts->era == Era::kSession) return std::optional<ServerFacts>();
    return std::optional<ServerFacts>(*facts);
  }
}

Result<StreamableClient::ConnectionPtr> StreamableClient::Initialize(const WaitOptions& wait) {
  const json capabilities = options_.elicitation ? ElicitationCapability() : json::object();
  const Outgoing outgoing{.method = kInitialize, .params = InitializeParams(capabilities)};
  const StreamHandlers ignore{[](const json&, const StreamPlace&) { return true; }};
  AG_ASSIGN_OR_RETURN(const HttpReply reply,
                      transport_->Request(nullptr, next_id_++, outgoing, ignore, wait));
  if (reply.status != 200) return transport_->Refusal(reply.status, reply.rpc);
  if (reply.rpc.error) return reply.rpc.error->ToStatus();
  auto connection = std::make_shared<Connection>();
  connection->session_id = reply.session_id;
  AG_ASSIGN_OR_RETURN(connection->facts, ReadInitializeResult(reply.rpc.result));
  const Status sent = transport_->Send(*connection, MakeNotification(kInitialized, nullptr), wait);
  if (sent.ok()) return ConnectionPtr(std::move(connection));
  EndInBackground(connection);
  return sent;
}

Result<RpcReply> StreamableClient::Request(const Outgoing& outgoing, const WaitOptions& wait) {
  for (bool again = false;; again = true) {
    AG_ASSIGN_OR_RETURN(const ConnectionPtr connection, Connect(wait));
    const bool may_pause = outgoing.questions != nullptr && connection->facts.era == Era::kSession;
    if (may_pause && outgoing.may_pause && options_.session_per_call) {
      return ReadReply(CallInOwnSession(outgoing, wait));
    }
    const int64_t id = next_id_++;
    Result<HttpReply> reply = may_pause ? CallInSession(connection, id, outgoing, wait)
                                        : RequestIn(connection, id, outgoing, wait);
    if (again || !reply.ok() || reply->status == 200 || !IsLost(*connection, *reply)) {
      return ReadReply(std::move(reply));
    }
    // The server did not accept the request, so it can be sent again safely.
    Forget(connection);
  }
}

Result<RpcReply> StreamableClient::ReadReply(Result<HttpReply> reply) const {
  if (!reply.ok()) return reply.status();
  if (reply->status != 200) return transport_->Refusal(reply->status, reply->rpc);
  return std::move(reply->rpc);
}

Result<HttpReply> StreamableClient::RequestIn(const ConnectionPtr& connection, int64_t id,
                                              const Outgoing& outgoing, const WaitOptions& wait) {
  StreamHandlers handlers;
  handlers.on_message = [&](const json& message, const StreamPlace&) {
    Receive(message, *connection, wait);
    return true;
  };
  handlers.memory = outgoing.memory;
  Result<HttpReply> reply = transport_->Request(connection.get(), id, outgoing, handlers, wait);
  // Without sessions, closing the connection cancels the request.
  if (connection->facts.era == Era::kSession && GaveUp(reply.status())) {
    SendCancelled(connection, id);
  }
  return reply;
}

std::shared_ptr<SessionCall> StreamableClient::MakeCall(const ConnectionPtr& connection, int64_t id,
                                                        SessionQuestions& questions) {
  return std::make_shared<SessionCall>(
      transport_, connection, id, questions,
      [self = shared_from_this(), connection](const json& message, const WaitOptions& wait) {
        self->Receive(message, *connection, wait);
      });
}

Result<HttpReply> StreamableClient::CallInSession(const ConnectionPtr& connection, int64_t id,
                                                  const Outgoing& outgoing,
                                                  const WaitOptions& wait) {
  Result<HttpReply> reply = MakeCall(connection, id, *outgoing.questions)->Make(outgoing, wait);
  if (GaveUp(reply.status()) || outgoing.questions->gave_up()) SendCancelled(connection, id);
  return reply;
}

Result<HttpReply> StreamableClient::CallInOwnSession(const Outgoing& outgoing,
                                                     const WaitOptions& wait) {
  AG_ASSIGN_OR_RETURN(const ConnectionPtr own, Initialize(wait));
  const int64_t id = next_id_++;
  const auto call = MakeCall(own, id, *outgoing.questions);
  call->ListenBeside(wait);
  Result<HttpReply> reply = call->Make(outgoing, wait);
  const bool gave_up = GaveUp(reply.status()) || outgoing.questions->gave_up();
  const bool paused = reply.ok() && reply->rpc.stopped;
  if (gave_up) SendCancelled(own, id);
  // A paused call needs its session later, unless the call will be repeated.
  if (!paused || gave_up) EndInBackground(own);
  return reply;
}

Result<RpcReply> StreamableClient::ContinueCall(const Continuation& place, const json& answer,
                                                const Outgoing& outgoing, const WaitOptions& wait) {
  const auto connection = std::make_shared<Connection>();
  connection->facts.era = Era::kSession;
  connection->facts.revision = place.revision;
  connection->session_id = place.session_id;
  const auto call = MakeCall(connection, place.call_id, *outgoing.questions);
  if (options_.session_per_call) call->ListenBeside(wait);
  Result<HttpReply> reply = call->ContinueCall(place, answer, outgoing.memory, wait);
  const bool gave_up = GaveUp(reply.status()) || outgoing.questions->gave_up();
  const bool paused = reply.ok() && reply->rpc.stopped;
  if (gave_up) SendCancelled(connection, place.call_id);
  if (options_.session_per_call && (!paused || gave_up)) EndInBackground(connection);
  return ReadReply(std::move(reply));
}

void StreamableClient::EndInBackground(const ConnectionPtr& connection) {
  if (connection->session_id.empty()) return;
  runtime::Runtime::Current()->Spawn(
      [self = shared_from_this(), connection] {
        const runtime::Cancellation never;
        self->transport_->EndSession(*connection, {never, DeadlineAfter(kStreamAnswerTimeout)});
      },
      /*here=*/true);
}

void StreamableClient::Receive(const json& message, const Connection& connection,
                               const WaitOptions& wait) {
  if (!message.contains("id")) {
    if (message["method"] == kToolsChanged) options_.on_tools_changed();
    return;
  }
  if (connection.facts.era == Era::kStateless) return;  // in this era servers send no requests
  // Errors are ignored: the server must handle a missing answer.
  (void)transport_->Send(
      connection, MakeAnswer(message),
      {wait.cancellation, std::min(wait.deadline, DeadlineAfter(kStreamAnswerTimeout))});
}

// Runs on a fiber of its own, because the caller no longer waits.
void StreamableClient::SendCancelled(const ConnectionPtr& connection, int64_t id) {
  runtime::Runtime* const runtime = runtime::Runtime::Current();
  if (runtime == nullptr) return;
  const json params = {{"requestId", id}, {"reason", "the caller gave up"}};
  std::string text = DumpJson(MakeNotification("notifications/cancelled", params));
  runtime->Spawn(
      [self = shared_from_this(), connection, text = std::move(text)] {
        const runtime::Cancellation never;
        Result<json> message = ParseJson(text);
        if (!message.ok()) return;
        (void)self->transport_->Send(*connection, *message,
                                     {never, DeadlineAfter(kStreamAnswerTimeout)});
      },
      /*here=*/true);
}

void StreamableClient::End(const WaitOptions& wait) {
  ConnectionPtr connection;
  {
    MutexLock lock(mutex_);
    connection = std::exchange(connection_, nullptr);
  }
  if (connection != nullptr && !connection->session_id.empty()) {
    transport_->EndSession(*connection, wait);
  }
  if (options_.transport.authorizer != nullptr) options_.transport.authorizer->Close();
}

}  // namespace agent_graph::tools::mcp

// POST, GET and DELETE of the endpoint: which era a message is of, and which method handles it.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "agent_graph/json.h"
#include "base/json.h"
#include "facades/mcp/call.h"
#include "facades/mcp/errors.h"
#include "facades/mcp/handlers.h"
#include "facades/mcp/methods.h"
#include "facades/mcp/request_headers.h"
#include "facades/mcp/session.h"
#include "facades/mcp/session_call.h"

namespace agent_graph::mcp {
namespace {

using api::HandlerContext;

constexpr char kInitialize[] = "initialize";
constexpr char kRevisionMember[] = "io.modelcontextprotocol/protocolVersion";
constexpr char kCapabilitiesMember[] = "io.modelcontextprotocol/clientCapabilities";

void Ping(const Call& call) {
  SendResult(call, "{}");
}

// Answers with an empty list: some clients ask for prompts although the server offers none.
void ListPrompts(const Call& call) {
  SendResult(call, ListingOf(call, "\"prompts\":[]"));
}

struct MethodRow {
  std::string_view name;
  bool in_session;
  bool stateless;
  void (*handle)(const Call& call);
};

constexpr std::array kMethods = {
    MethodRow{"server/discover", false, true, Discover},
    MethodRow{"ping", true, false, Ping},
    MethodRow{"tools/list", true, true, ListTools},
    MethodRow{"tools/call", true, true, CallTool},
    MethodRow{"resources/list", true, true, ListResources},
    MethodRow{"resources/templates/list", true, true, ListResourceTemplates},
    MethodRow{"resources/read", true, true, ReadResource},
    MethodRow{"prompts/list", true, true, ListPrompts},
};

void Handle(const Call& call) {
  const auto row = std::ranges::find(kMethods, call.message.method, &MethodRow::name);
  const bool known = row != kMethods.end() && (call.stateless() ? row->stateless : row->in_session);
  if (known) return row->handle(call);
  SendError(call, {kMethodNotFound, "there is no such method", call.stateless() ? 404 : 200});
}

// --- the stateless era -------------------------------------------------------------------------

RpcError MissingMember(const std::string& name) {
  return {kInvalidParams, "params._meta: must have " + name, 400};
}

std::optional<RpcError> ReadPeer(const HandlerContext& context, const RpcMessage& message,
                                 Peer& peer) {
  peer.era = Era::kStateless;
  const json* meta = ObjectMember(message.params, "_meta");
  const std::string* revision = TextMember(meta, kRevisionMember);
  if (revision == nullptr) return MissingMember(kRevisionMember);
  const json* capabilities = ObjectMember(meta, kCapabilitiesMember);
  if (capabilities == nullptr) return MissingMember(kCapabilitiesMember);
  if (auto error = CheckHeaders(context.head(), message, *revision)) return error;
  peer.revision = *revision;
  if (peer.revision == kStatelessRevision) {
    ReadCapabilities(*capabilities, peer);
    return std::nullopt;
  }
  RpcError error{kUnsupportedRevision, "this revision of the protocol is not spoken here", 400};
  error.data_json = "{\"supported\":" + RevisionsJson() + ",\"requested\":";
  AppendJsonString(error.data_json, peer.revision);
  error.data_json += '}';
  return error;
}

void ServeStateless(HandlerContext& context, const RpcMessage& message) {
  using Kind = RpcMessage::Kind;
  // A client that cancels closes the connection; other notifications need no action.
  if (message.kind == Kind::kNotification) return SendAccepted(context);
  if (message.kind == Kind::kResponse) {
    return SendError(context, kNoId, {kInvalidRequest, "this server sends no requests", 400});
  }
  Peer peer;
  if (auto error = ReadPeer(context, message, peer)) {
    return SendError(context, message.id_json, *error);
  }
  Handle({context, peer, message});
}

bool IsStateless(const HandlerContext& context, const RpcMessage& message) {
  const json* meta = ObjectMember(message.params, "_meta");
  if (meta != nullptr && meta->contains(kRevisionMember)) return true;
  return context.head().Header(kRevisionHeader) == kStatelessRevision;
}

// --- sessions ----------------------------------------------------------------------------------

// Sets the client of a request that is not `initialize`. Without a checkpointer there are no
// sessions, and every request is served. Returns false if the request was refused and answered.
bool FindPeer(HandlerContext& context, std::string_view id_json, Peer& peer) {
  const std::string_view revision = context.head().Header(kRevisionHeader);
  if (!revision.empty() && !IsSessionRevision(revision)) {
    SendError(context, id_json,
              {kServerRefusal, "MCP-Protocol-Version: supported are " + RevisionsJson(), 400});
    return false;
  }
  if (context.api().state == nullptr) {
    peer.revision = revision.empty() ? kAssumedRevision : revision;
    return true;
  }
  Result<Peer> found = FindSession(context);
  if (found.ok()) {
    peer = *std::move(found);
    return true;
  }
  const Status& status = found.status();
  if (status.code() == StatusCode::kInvalidArgument) {
    SendError(context, id_json, {kServerRefusal, status.message(), 400});
  } else if (status.code() == StatusCode::kNotFound) {
    SendError(context, id_json, {kSessionNotFound, status.message(), 404});
  } else if (id_json == kNoId) {
    context.Fail(status);
  } else {
    SendFailure(context, id_json, context.Explain(status));
  }
  return false;
}

void ServeSession(HandlerContext& context, const RpcMessage& message) {
  using Kind = RpcMessage::Kind;
  Peer peer;
  const bool begins = message.kind == Kind::kRequest && message.method == kInitialize;
  if (begins) return Initialize({context, peer, message});
  if (!FindPeer(context, message.kind == Kind::kRequest ? message.id_json : kNoId, peer)) return;
  if (message.kind == Kind::kRequest) return Handle({context, peer, message});
  if (peer.session.empty()) return SendAccepted(context);
  if (message.kind == Kind::kResponse) return TakeAnswer(context, peer, message);
  if (message.method == "notifications/cancelled") return CancelCall(context, peer, message);
  SendAccepted(context);
}

}  // namespace

void ReceiveMessage(HandlerContext& context) {
  if (auto error = CheckOrigin(context)) return context.Fail(*error);
  if (auto error = CheckContentType(context)) return context.Fail(*error);
  RpcMessage message;
  if (auto error = ReadMessage(context.body(), message)) {
    return SendError(context, kNoId, *error);
  }
  IsStateless(context, message) ? ServeStateless(context, message) : ServeSession(context, message);
}

void ResumeStream(HandlerContext& context) {
  if (auto error = CheckOrigin(context)) return context.Fail(*error);
  Peer peer;
  const std::string_view event_id = context.head().Header("last-event-id");
  // The server has nothing to say outside of calls.
  const bool resumes = !event_id.empty() && context.api().state != nullptr;
  if (!resumes) return context.Fail(api::ErrorInfo{api::ApiError::kMethodNotAllowed, "", {}});
  if (FindPeer(context, kNoId, peer)) ResumeCall(context, peer, event_id);
}

void DeleteSession(HandlerContext& context) {
  if (auto error = CheckOrigin(context)) return context.Fail(*error);
  if (context.api().state == nullptr) {
    return context.Fail(api::ErrorInfo{api::ApiError::kMethodNotAllowed, "", {}});
  }
  Peer peer;
  if (!FindPeer(context, kNoId, peer)) return;
  if (const Status ended = EndSession(context, peer); !ended.ok()) return context.Fail(ended);
  context.exchange().Reply(context.MakeHead(204, {}), {}, "ok");
}

}  // namespace agent_graph::mcp

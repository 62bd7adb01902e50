// server/discover and initialize: what this server is and can do.
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/json.h"
#include "facades/mcp/call.h"
#include "facades/mcp/errors.h"
#include "facades/mcp/methods.h"
#include "facades/mcp/session.h"

namespace agent_graph::mcp {
namespace {

std::string Capabilities(const api::HandlerContext& context) {
  const bool has_threads = context.api().state != nullptr;
  return has_threads ? R"({"tools":{},"resources":{},"prompts":{}})"
                     : R"({"tools":{},"prompts":{}})";
}

}  // namespace

void Discover(const Call& call) {
  SendResult(call, ListingOf(call, "\"supportedVersions\":" + RevisionsJson() +
                                       ",\"capabilities\":" + Capabilities(call.context)));
}

void Initialize(const Call& call) {
  api::HandlerContext& context = call.context;
  const std::string* wanted = TextMember(call.message.params, "protocolVersion");
  if (wanted == nullptr) {
    return SendError(call, {kInvalidParams, "params.protocolVersion: is required"});
  }
  Peer peer;
  peer.revision = IsSessionRevision(*wanted) ? *wanted : std::string(kNewestSessionRevision);
  if (const json* capabilities = ObjectMember(call.message.params, "capabilities")) {
    ReadCapabilities(*capabilities, peer);
  }
  bridge::HeaderList headers = {{"Content-Type", "application/json"}};
  if (context.api().state != nullptr) {
    Result<std::string> session = BeginSession(context, peer);
    if (!session.ok()) return SendFailure(call, session.status());
    headers.emplace_back("Mcp-Session-Id", *std::move(session));
  }
  std::string result = "{\"protocolVersion\":";
  AppendJsonString(result, peer.revision);
  result += ",\"capabilities\":" + Capabilities(context);
  result += ",\"serverInfo\":" + ServerInfo(context) + '}';
  std::vector<std::string> body;
  body.push_back(ResultMessage(call.message.id_json, result));
  context.exchange().Reply(context.MakeHead(200, std::move(headers)), std::move(body), "ok");
}

}  // namespace agent_graph::mcp

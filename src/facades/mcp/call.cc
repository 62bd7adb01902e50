#include "facades/mcp/call.h"

#include <utility>
#include <vector>

#include "base/json.h"
#include "base/version.h"
#include "facades/mcp/errors.h"
#include "graph/compiled_graph.h"

namespace agent_graph::mcp {
namespace {

constexpr std::string_view kServerInfoMember = R"("io.modelcontextprotocol/serverInfo":)";

void SendJson(api::HandlerContext& context, int status, std::string text, std::string outcome) {
  std::vector<std::string> body;
  body.push_back(std::move(text));
  context.exchange().Reply(context.MakeHead(status, {{"Content-Type", "application/json"}}),
                           std::move(body), std::move(outcome));
}

}  // namespace

void SendResult(const Call& call, std::string_view result_json) {
  SendJson(call.context, 200, ResultMessage(call.message.id_json, result_json), "ok");
}

void SendError(api::HandlerContext& context, std::string_view id_json, const RpcError& error) {
  SendJson(context, error.status, ErrorMessage(id_json, error),
           error.code == kInternalError ? "error" : "rejected");
}

void SendError(const Call& call, const RpcError& error) {
  SendError(call.context, call.message.id_json, error);
}

void SendFailure(api::HandlerContext& context, std::string_view id_json,
                 const api::ErrorInfo& error) {
  RpcError rpc = RpcErrorOf(error);
  const bool may_repeat = rpc.status == 429 || rpc.status == 503;
  if (may_repeat) return context.Fail(error);
  if (error.error == api::ApiError::kValidation) rpc.code = kInvalidParams;
  SendJson(context, 200, ErrorMessage(id_json, rpc),
           api::OutcomeOf(error, context.exchange().cancellation().reason()));
}

void SendFailure(const Call& call, const api::ErrorInfo& error) {
  SendFailure(call.context, call.message.id_json, error);
}

void SendFailure(const Call& call, const Status& status) {
  SendFailure(call, call.context.Explain(status));
}

void SendAccepted(api::HandlerContext& context) {
  context.exchange().Reply(context.MakeHead(202, {}), {}, "ok");
}

std::string ServerInfo(const api::HandlerContext& context) {
  std::string out = "{\"name\":";
  AppendJsonString(out, context.api().graph->name());
  out += ",\"version\":\"";
  out += kVersion;
  out += "\"}";
  return out;
}

std::string ResultOf(const Call& call, std::string_view members) {
  if (!call.stateless()) return '{' + std::string(members) + '}';
  std::string out = R"({"resultType":"complete",)";
  out += members;
  if (!members.empty()) out += ',';
  out += "\"_meta\":{";
  out += kServerInfoMember;
  out += ServerInfo(call.context);
  out += "}}";
  return out;
}

std::string ListingOf(const Call& call, std::string_view members) {
  if (!call.stateless()) return ResultOf(call, members);
  return ResultOf(call, std::string(members) + R"(,"ttlMs":0,"cacheScope":"private")");
}

}  // namespace agent_graph::mcp

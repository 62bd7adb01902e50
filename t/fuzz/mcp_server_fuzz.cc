// Arbitrary messages of MCP servers whose tools a graph uses: reading them must be safe, and tools,
// outputs and answers that are made of them must be valid.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "agent_graph/tool.h"
#include "base/json.h"
#include "tools/mcp/protocol/elicitation.h"
#include "tools/mcp/protocol/json_rpc.h"
#include "tools/mcp/protocol/revisions.h"
#include "tools/mcp/tool_result.h"

namespace agent_graph::tools::mcp {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

bool IsJson(std::string_view text) {
  return !json::parse(text, nullptr, false).is_discarded();
}

void ReadHandshake(const json& result) {
  const Result<ServerFacts> session = ReadInitializeResult(result);
  Require(!session.ok() || session->era == Era::kSession);
  (void)ReadDiscoverResult(result);
  (void)ChooseEra(result);
}

void ReadTool(const json& described) {
  const Result<Tool> tool = ToTool(described, "peer_");
  if (!tool.ok()) return;
  Require(tool->name.size() <= kToolNameBytesMax &&
          tool->description.size() <= kDescriptionBytesMax);
  Require(IsJson(tool->parameters_json));
}

void ReadQuestions(const json& result) {
  const Result<InputRequired> required = ReadInputRequired(result);
  if (required.ok()) {
    for (const Question& question : required->questions) Require(!DigestOf(question).empty());
  }
  for (const Question& page : ReadRequiredPages(result)) Require(!DigestOf(page).empty());
}

void Answer(const json& request) {
  Require(IsJson(DumpJson(MakeAnswer(request))));
  for (const bool may_repeat : {false, true}) {
    SessionQuestions questions({.may_pause = true, .may_repeat = may_repeat, .known = {}});
    const json answer = questions.Answer(request, {"session", kSessionRevision, 7, "event"});
    Require(answer.is_null() == questions.paused());
    if (!questions.paused()) continue;
    const json place = questions.continuation().ToJson();
    Require(Continuation::FromJson(place).ToJson() == place);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<json> message = ParseJson({reinterpret_cast<const char*>(data), size});
  if (!message.ok() || !message->is_object()) return 0;
  const json place = Continuation::FromJson(*message).ToJson();
  Require(Continuation::FromJson(place).ToJson() == place);
  if (message->contains("method")) Answer(*message);
  const Result<RpcReply> reply = ReadReply(*message);
  if (!reply.ok()) return 0;
  if (reply->error) {
    Require(!reply->error->ToStatus().ok());
    (void)SupportedRevisions(*reply->error);
    (void)ReadRequiredPages(reply->error->data);
    return 0;
  }
  ReadHandshake(reply->result);
  ReadTool(reply->result);
  ReadQuestions(reply->result);
  (void)ToOutput(reply->result);
  return 0;
}

}  // namespace agent_graph::tools::mcp

#include "facades/mcp/agent_tool.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "base/json.h"
#include "base/text.h"
#include "graph/compiled_graph.h"

namespace agent_graph::mcp {
namespace {

constexpr size_t kNameBytesMax = 64;

constexpr std::string_view kInputSchema =
    R"({"type":"object","properties":{"message":{"type":"string","minLength":1,)"
    R"("description":"The message for the agent"},"thread_id":{"type":"string",)"
    R"("description":"The thread_id of an earlier answer, to continue that conversation. )"
    R"(Without it a new one begins."}},"required":["message"]})";

constexpr std::string_view kOutputSchema =
    R"({"type":"object","properties":{"answer":{"type":"string"},"thread_id":{"type":"string",)"
    R"("description":"Continues the conversation in the next call"},"run_id":{"type":"string"},)"
    R"("status":{"type":"string","enum":["done","interrupted"],"description":"interrupted: the )"
    R"(agent waits for what `interrupt` describes"},"interrupt":{"type":"object"}},)"
    R"("required":["answer","status"]})";

constexpr std::string_view kInputWithoutThread =
    R"({"type":"object","properties":{"message":{"type":"string","minLength":1,)"
    R"("description":"The message for the agent"}},"required":["message"]})";

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

std::string AgentToolName(const api::HandlerContext& context) {
  std::string name = context.api().graph->name().substr(0, kNameBytesMax);
  std::ranges::replace_if(name, [](char c) { return !IsNameCharacter(c); }, '_');
  return name.empty() ? "agent" : name;
}

std::string AgentToolJson(const api::HandlerContext& context) {
  const std::string& name = context.api().graph->name();
  std::string description = context.api().settings->facades.mcp.description;
  if (description.empty()) {
    description = "Sends a message to the agent \"" + name + "\" and returns its answer.";
  }
  std::string out = "{\"name\":";
  AppendJsonString(out, AgentToolName(context));
  out += ",\"title\":";
  AppendJsonString(out, name);
  out += ",\"description\":";
  AppendJsonString(out, description);
  out += ",\"inputSchema\":";
  out += context.api().state != nullptr ? kInputSchema : kInputWithoutThread;
  out += ",\"outputSchema\":";
  out += kOutputSchema;
  out += '}';
  return out;
}

std::string ReadAgentArguments(const json& arguments, size_t message_bytes_max,
                               AgentArguments& read) {
  const auto message = arguments.find("message");
  if (message == arguments.end() || !message->is_string()) return "message: must be a text";
  read.message = message->get_ref<const std::string&>();
  if (IsBlank(read.message)) return "message: must not be blank";
  if (read.message.size() > message_bytes_max) {
    return "message: must have at most " + std::to_string(message_bytes_max) + " bytes";
  }
  const json* thread = api::FindMember(arguments, "thread_id");
  if (thread == nullptr) return "";
  const std::optional<std::string> id = api::ThreadIdText(*thread);
  if (!id) return "thread_id: must be a text";
  if (IsBlank(*id)) return "";
  if (const auto problem = api::ThreadIdProblem(*id)) return "thread_id: " + *problem;
  read.thread_id = *id;
  return "";
}

}  // namespace agent_graph::mcp

#include "tools/mcp/tool_result.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/text.h"
#include "tools/schema/json_schema.h"

namespace agent_graph::tools::mcp {
namespace {

std::string TextOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool IsTrue(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && *found == true;
}

// The hints come from the server, which the graph's author trusts.
bool IsIdempotent(const json& described) {
  const auto annotations = described.find("annotations");
  if (annotations == described.end() || !annotations->is_object()) return false;
  return IsTrue(*annotations, "readOnlyHint") || IsTrue(*annotations, "idempotentHint");
}

// True if the server executes calls of the tool only as tasks (revision 2025-11-25), which this
// client does not offer. It refuses every other call.
bool NeedsTask(const json& described) {
  const auto execution = described.find("execution");
  return execution != described.end() && execution->is_object() &&
         TextOf(*execution, "taskSupport") == "required";
}

}  // namespace

Result<Tool> ToTool(const json& described, const std::string& prefix) {
  if (!described.is_object()) return InvalidArgument("a tool is not described by an object");
  Tool tool;
  const std::string name = TextOf(described, "name");
  tool.name = prefix + name;
  if (name.empty()) return InvalidArgument("a tool has no name");
  if (NeedsTask(described)) {
    return InvalidArgument("tool " + OneLine(name, kToolNameBytesMax) +
                           " is left out: it can only be called as a task");
  }
  if (tool.name.size() > kToolNameBytesMax) {
    return InvalidArgument("the name of tool " + OneLine(name, kToolNameBytesMax) + " is too long");
  }
  std::replace_if(
      tool.name.begin(), tool.name.end(),
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '_' || c == '-');
      },
      '_');
  tool.description = TextOf(described, "description");
  if (tool.description.empty()) tool.description = TextOf(described, "title");
  tool.description.resize(CutAtCharacter(tool.description, kDescriptionBytesMax).size());
  if (const auto schema = described.find("inputSchema");
      schema != described.end() && schema->is_object()) {
    if (const Status takes = CheckTakesObjects(*schema); !takes.ok()) {
      return InvalidArgument("tool " + tool.name + " is left out: its inputSchema." +
                             takes.message());
    }
    tool.parameters_json = DumpJson(*schema);
  }
  if (tool.parameters_json.size() > kSchemaBytesMax) {
    return InvalidArgument("the schema of tool " + tool.name + " is too large");
  }
  tool.idempotent = IsIdempotent(described);
  return tool;
}

ToolOutput ToOutput(const json& result) {
  ToolOutput output;
  const auto structured = result.find("structuredContent");
  const auto content = result.find("content");
  if (structured != result.end() && !structured->is_null()) {
    output = *structured;
  } else if (content != result.end() && content->is_array()) {
    std::string text;
    bool only_text = true;
    for (const json& block : *content) {
      only_text = only_text && block.is_object() && TextOf(block, "type") == "text";
      if (!only_text) break;
      if (!text.empty()) text.push_back('\n');
      text += TextOf(block, "text");
    }
    output = only_text ? ToolOutput(text) : ToolOutput(*content);
  }
  output.is_error = IsTrue(result, "isError");
  return output;
}

}  // namespace agent_graph::tools::mcp

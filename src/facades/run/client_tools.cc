#include "facades/run/client_tools.h"

#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "facades/run/body_members.h"
#include "facades/run/tool_shapes.h"
#include "run/nodes/remote_tools.h"

namespace agent_graph::facades {
namespace {

using api::FindMember;

// Coding agents with many MCP servers have a few hundred.
constexpr size_t kToolsMax = 1024;
constexpr char kNoParameters[] = R"({"type":"object","properties":{}})";

run::ClientTool ReadTool(const json& value) {
  run::ClientTool tool;
  tool.name = TextOf(value, "name");
  tool.description = TextOf(value, "description");
  const json* parameters = FindMember(value, "parameters");
  const bool has_parameters = parameters != nullptr && !parameters->empty();
  tool.parameters_json = has_parameters ? DumpJson(*parameters) : kNoParameters;
  return tool;
}

}  // namespace

std::vector<run::ClientTool> ReadClientTools(const api::HandlerContext& context,
                                             const ClientToolForm& form, api::Problems& problems) {
  std::vector<run::ClientTool> tools;
  const json* list = FindMember(context.body(), "tools");
  if (list == nullptr) return tools;
  if (list->size() > kToolsMax) {
    problems.Add({"body", "tools"}, "must have at most " + std::to_string(kToolsMax) + " tools",
                 api::ProblemType::kTooLong);
    return tools;
  }
  std::set<std::string> names;
  for (size_t i = 0; i < list->size(); ++i) {
    const json& element = (*list)[i];
    if (form.skips_other_types && TextOf(element, "type") != kFunctionOnly[0]) continue;
    run::ClientTool tool = ReadTool(form.member != nullptr ? element.at(form.member) : element);
    if (form.allowed && !form.allowed->contains(tool.name)) continue;
    auto problem = run::FindClientToolProblem(*context.api().graph, tool);
    if (!problem && !names.insert(tool.name).second) problem = {"name", "is a duplicate"};
    if (problem) {
      std::vector<std::string> place = {"body", "tools", std::to_string(i)};
      if (form.member != nullptr) place.emplace_back(form.member);
      place.push_back(problem->field);
      problems.Add(std::move(place), problem->text, api::ProblemType::kValue);
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

}  // namespace agent_graph::facades

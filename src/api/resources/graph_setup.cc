// POST /v1/graph/setup: replaces the tools that clients run, in all workers, until nginx is
// restarted. For development only: every caller of this route changes the tools of all runs.
#include <set>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/context.h"
#include "api/resources/handlers.h"
#include "base/json.h"
#include "run/nodes/remote_tools.h"

namespace agent_graph::api {
namespace {

constexpr char kNoParameters[] = R"({"type":"object","properties":{}})";

// Reads a tool from a checked body.
state::RemoteTool ReadTool(const json& value) {
  state::RemoteTool tool;
  tool.node = value.at("node_name").get<std::string>();
  tool.name = value.at("name").get<std::string>();
  const json* description = FindMember(value, "description");
  if (description != nullptr) tool.description = description->get<std::string>();
  const json* parameters = FindMember(value, "parameters");
  const bool some = parameters != nullptr && !parameters->empty();
  tool.parameters_json = some ? DumpJson(*parameters) : kNoParameters;
  return tool;
}

std::vector<state::RemoteTool> ReadTools(const json& list, const graph::CompiledGraph& graph,
                                         Problems& problems) {
  std::vector<state::RemoteTool> tools;
  std::set<std::pair<std::string, std::string>> names;
  for (size_t i = 0; i < list.size(); ++i) {
    state::RemoteTool tool = ReadTool(list[i]);
    auto problem = run::FindProblem(graph, tool);
    if (!problem && !names.emplace(tool.node, tool.name).second) {
      problem = {"name", "is a duplicate"};
    }
    if (problem) {
      const std::string key = problem->field == "node" ? "node_name" : problem->field;
      problems.Add({"body", "tools", std::to_string(i), key}, problem->text, ProblemType::kValue);
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

}  // namespace

std::optional<ErrorInfo> SetupIsClosed(const settings::Settings& settings) {
  if (settings.mode == settings::Mode::kProduction) {
    return ErrorInfo{
        ApiError::kPermissionDenied, "remote tools cannot be set up when MODE is production", {}};
  }
  if (settings.authentication.method != settings::AuthenticationSettings::Method::kNone) {
    return ErrorInfo{ApiError::kPermissionDenied,
                     "remote tools cannot be set up when authentication is configured",
                     {}};
  }
  return std::nullopt;
}

void SetUpTools(HandlerContext& context) {
  const ApiContext& api = context.api();
  Problems problems;
  std::vector<state::RemoteTool> tools =
      ReadTools(context.body().at("tools"), *api.graph, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  const size_t count = tools.size();
  if (Status status = api.remote_tools->SetUp(std::move(tools)); !status.ok()) {
    return context.Fail(status);
  }
  const std::string message =
      std::to_string(count) + (count == 1 ? " remote tool" : " remote tools") + " registered";
  context.Succeed(DumpJson({{"success", true},
                            {"status", "success"},
                            {"message", message},
                            {"details", message},
                            {"registered_tools", count}}));
}

}  // namespace agent_graph::api

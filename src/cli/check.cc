// agent-graph check: the checks of `nginx -t`, without nginx.
#include <cstdio>
#include <string>

#include "cli/agent_file.h"
#include "cli/command.h"
#include "cli/json_place.h"
#include "cli/user_code.h"
#include "graph/load.h"
#include "service/validation.h"
#include "settings/load_file.h"

namespace agent_graph::cli {
namespace {

Status Problem(const std::string& text) {
  return Status(StatusCode::kGraph, text);
}

// The place of a mistake in a graph may be in the graph's file or in service.json.
std::string WithPlaceInEither(const std::string& problem, const std::string& file,
                              const settings::Settings& settings) {
  const std::string placed = WithPlace(problem, settings.agent.module);
  return placed != problem ? placed : WithPlace(problem, file);
}

Status CheckService(const std::string& file, const Streams& streams) {
  const Result<settings::Settings> settings = settings::LoadFile(file);
  if (!settings.ok()) return Problem(WithPlace(settings.status().message(), file));
  for (const std::string& warning : settings->warnings) {
    std::fprintf(streams.out, "%s: warning: %s\n", file.c_str(), warning.c_str());
  }
  const std::string& graph = settings->agent.module;
  const Result<std::string> valid = WithUserCode(graph, [&]() -> Result<std::string> {
    AG_RETURN_IF_ERROR(service::Validate(*settings));
    return std::string();
  });
  if (!valid.ok()) {
    const std::string text = valid.status().message();
    const bool has_file = text.starts_with(graph) || text.starts_with("/");
    return Problem(WithPlaceInEither(has_file ? text : file + ": " + text, file, *settings));
  }
  std::fprintf(streams.out, "%s: the service and its graph %s are fine\n", file.c_str(),
               graph.c_str());
  return Status::Ok();
}

Status CheckGraphs(const AgentFile& agent, const Streams& streams) {
  for (const std::string& attribute : agent.attributes) {
    const Result<std::string> nodes = WithUserCode(agent.path, [&]() -> Result<std::string> {
      AG_ASSIGN_OR_RETURN(const auto graph, graph::LoadGraph(agent.path, attribute));
      return std::to_string(graph->nodes().size());
    });
    if (!nodes.ok()) return Problem(WithPlace(nodes.status().message(), agent.path));
    std::fprintf(streams.out, "%s: the graph %s is fine: %s nodes\n", agent.path.c_str(),
                 attribute.c_str(), nodes->c_str());
  }
  return Status::Ok();
}

Status RunCheck(const Arguments& arguments, const Streams& streams) {
  AG_ASSIGN_OR_RETURN(const AgentFile agent, ReadAgentFile(arguments.operands()[0]));
  if (agent.is_service) return CheckService(agent.path, streams);
  return CheckGraphs(agent, streams);
}

}  // namespace

const Command kCheckCommand = {
    .name = "check",
    .operands = "FILE[:NAME]",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "checks service.json, or a graph",
    .help =
        "Checks what `nginx -t` checks, without nginx: service.json with its graph, or a graph\n"
        "alone, in JSON or compiled (.so). The first mistake is one line that begins with\n"
        "FILE:LINE:COLUMN. NAME selects one graph of a file; the default is every graph of a\n"
        "JSON file, and `app` of a compiled one.\n",
    .run = RunCheck,
};

}  // namespace agent_graph::cli

// agent-graph draw: shows a graph.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "cli/agent_file.h"
#include "cli/command.h"
#include "cli/drawing.h"
#include "cli/json_place.h"
#include "cli/user_code.h"
#include "graph/load.h"
#include "settings/load_file.h"

namespace agent_graph::cli {
namespace {

constexpr Option kDrawOptions[] = {
    {.name = "format", .value = "FORMAT", .help = "text (default), mermaid or svg"},
};

struct Format {
  std::string_view name;
  std::string (*draw)(const DrawnGraph& graph);
};
constexpr Format kFormats[] = {
    {.name = "text", .draw = DrawText},
    {.name = "mermaid", .draw = DrawMermaid},
    {.name = "svg", .draw = DrawSvg},
};

Status RunDraw(const Arguments& arguments, const Streams& streams) {
  const std::string name = arguments.Value("format", "text");
  const auto format = std::ranges::find(kFormats, name, &Format::name);
  if (format == std::end(kFormats)) {
    return Status(StatusCode::kInvalidArgument,
                  "--format: " + name + " is none of text, mermaid, svg");
  }
  AG_ASSIGN_OR_RETURN(AgentFile file, ReadAgentFile(arguments.operands()[0]));
  if (file.is_service) {
    const auto settings = settings::LoadFile(file.path);
    if (!settings.ok()) {
      return Status(StatusCode::kGraph, WithPlace(settings.status().message(), file.path));
    }
    file = {.path = settings->agent.module, .attributes = {settings->agent.attribute}};
  }
  for (const std::string& attribute : file.attributes) {
    const Result<std::string> drawn = WithUserCode(file.path, [&]() -> Result<std::string> {
      AG_ASSIGN_OR_RETURN(const auto graph, graph::LoadGraph(file.path, attribute));
      return format->draw(PlaceNodes(*graph));
    });
    if (!drawn.ok()) {
      return Status(StatusCode::kGraph, WithPlace(drawn.status().message(), file.path));
    }
    std::fputs(drawn->c_str(), streams.out);
  }
  return Status::Ok();
}

}  // namespace

const Command kDrawCommand = {
    .name = "draw",
    .operands = "FILE[:NAME]",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "draws a graph as text, for Mermaid, or as SVG",
    .help =
        "FILE is a graph in JSON or compiled (.so), service.json, or a folder with one. Broken\n"
        "lines are edges with a condition.\n",
    .options = kDrawOptions,
    .run = RunDraw,
};

}  // namespace agent_graph::cli

// Asks the client, such as a browser or a phone, where the user is, and computes distances in the
// server. remote.json is the same without code.
//
//   g++ -std=c++20 -O2 -fPIC -shared remote.cc -o remote.so
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <cmath>

using namespace agent_graph;

// Great-circle distance in kilometres between two points in degrees.
static ToolOutput Distance(const json& arguments, ToolContext&) {
  constexpr double kRadians = 3.14159265358979323846 / 180;
  constexpr double kEarthRadiusKm = 6371;
  const double from = arguments.at("from_latitude").get<double>() * kRadians;
  const double to = arguments.at("to_latitude").get<double>() * kRadians;
  const double turn =
      (arguments.at("to_longitude").get<double>() - arguments.at("from_longitude").get<double>()) *
      kRadians;
  const double cosine =
      std::sin(from) * std::sin(to) + std::cos(from) * std::cos(to) * std::cos(turn);
  return json{{"km", std::round(kEarthRadiusKm * std::acos(std::fmin(1, std::fmax(-1, cosine))))}};
}

static void Build(GraphBuilder& graph) {
  Tool distance{.name = "distance",
                .description = "Kilometres between two points, all four numbers in degrees.",
                .parameters_json = R"({"type":"object",
          "required":["from_latitude","from_longitude","to_latitude","to_longitude"],
          "properties":{"from_latitude":{"type":"number"},"from_longitude":{"type":"number"},
                        "to_latitude":{"type":"number"},"to_longitude":{"type":"number"}}})",
                .function = Distance,
                .idempotent = true,
                .execution = Execution::kNonBlocking};

  graph.SetName("remote");
  graph.AddAgent("MAIN", {.system_prompt = "You are a travel guide. Ask for the user's location "
                                           "when it matters.",
                          .tool_node = "TOOLS"});
  graph.AddToolNode("TOOLS", {distance});
  graph.AddRemoteTool("TOOLS", {.name = "get_location",
                                .description = "Where the user is.",
                                .parameters_json = R"({"type":"object","properties":{
                                                       "precise":{"type":"boolean"}}})"});
  graph.AddEdge(START, "MAIN");
  graph.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
  graph.AddEdge("TOOLS", "MAIN");
}

AGENT_GRAPH_EXPORT(app, Build)

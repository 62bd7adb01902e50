// The graph of t/prove, with every kind of work during which a run can lose its worker. Its tools
// and functions report to the server at PROVE_PORT, so that the test knows what each run has done.
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

namespace ag = agent_graph;

constexpr char kItem[] =
    R"({"type":"object","properties":{"item":{"type":"string"}},"required":["item"]})";

// Reports to the server that counts, and waits for its answer.
void Report(const std::string& path) {
  const char* port = std::getenv("PROVE_PORT");
  if (port == nullptr) return;
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: outside\r\n\r\n";
    char answer[256];
    if (send(connection, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
      (void)!recv(connection, answer, sizeof answer, 0);
    }
  }
  close(connection);
}

void ReportFunction(const std::string& run_id, const std::string& name) {
  const char* instance = std::getenv("PROVE_INSTANCE");
  if (instance == nullptr) return;
  Report("/" + std::string(instance) + "/function/" + run_id + "/" + name);
}

// Reports, and sets the field that shows that the node has finished.
ag::NodeFunction Step(std::string name) {
  return [name](const ag::State&, ag::RunContext& context) -> ag::NodeResult {
    ReportFunction(context.run_id(), name);
    return ag::NodeResult().Set("steps", context.run_id() + "/" + name);
  };
}

// Ends its worker, each time, if the user asks for it.
ag::NodeResult Plan(const ag::State& state, ag::RunContext& context) {
  if (state.LastUserText().find("kind=poison") != std::string::npos) {
    ReportFunction(context.run_id(), "POISON");
    kill(getpid(), SIGKILL);
  }
  return Step("PLAN")(state, context);
}

ag::NodeResult Ask(const ag::State& state, ag::RunContext& context) {
  ag::NodeResult result = Step("ASK")(state, context);
  if (state.LastUserText().find("kind=ask") != std::string::npos) {
    result.interrupt = ag::Interrupt{"needs a yes", "{}"};
  }
  return result;
}

void BuildTeam(ag::GraphBuilder& team) {
  team.AddAgent("CHECK", {.model = "check", .stream = false, .output_field = "verdict"});
  team.AddFunction("NOTE", Step("NOTE"));
  team.AddEdge(ag::START, "CHECK").AddEdge("CHECK", "NOTE");
}

void AddTools(ag::GraphBuilder& graph) {
  graph.AddToolNode("TOOLS", {});
  for (const std::string name : {"charge", "look"}) {
    graph.AddHttpTool("TOOLS", {.name = name,
                                .description = "Reports an item.",
                                .method = "POST",
                                .url = "${PROVE_URL}/tool/" + name,
                                .parameters_json = kItem,
                                .idempotent = name == "look"});
  }
  graph.AddRemoteTool(
      "TOOLS",
      {.name = "ask_client", .description = "The client answers.", .parameters_json = kItem});
}

void Build(ag::GraphBuilder& graph) {
  graph.AddField({.name = "steps", .reducer = ag::Reducer::kAppend});
  graph.AddField({.name = "verdict"});
  graph.AddFunction("PLAN", Plan);
  graph.AddAgent("MAIN", {.model = "main", .tool_node = "TOOLS"});
  AddTools(graph);
  ag::GraphBuilder team;
  BuildTeam(team);
  graph.AddSubgraph("TEAM", team);
  graph.AddFunction("ASK", Ask);
  graph.AddAgent("REPORT", {.model = "report"});
  graph.AddEdge(ag::START, "PLAN").AddEdge("PLAN", "MAIN");
  graph.AddConditionalEdge("MAIN", ag::ToolCallsPending("TOOLS", "TEAM"), {"TOOLS", "TEAM"});
  graph.AddEdge("TOOLS", "MAIN").AddEdge("TEAM", "ASK").AddEdge("ASK", "REPORT");
}

}  // namespace

AGENT_GRAPH_EXPORT(app, Build)

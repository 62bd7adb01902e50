#include "graph/load.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent_graph/json.h"
#include "agent_graph/version.h"
#include "graph/shared_object.h"
#include "tools/local/builtin.h"

namespace agent_graph::graph {
namespace {

std::string VersionText(uint32_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kTestGraphs = AGENT_GRAPH_TEST_GRAPHS "/";
const std::string kSamples = AGENT_GRAPH_SAMPLE_GRAPHS "/";

class FakeRunContext : public RunContext {
 public:
  const std::string& thread_id() const override { return text_; }
  const std::string& run_id() const override { return text_; }
  const std::string& node() const override { return text_; }
  const json& user() const override { return object_; }
  const json& config() const override { return object_; }
  bool cancelled() const override { return false; }
  bool SleepFor(std::chrono::milliseconds) override { return true; }
  bool EmitText(std::string_view) override { return true; }
  Message CallModel(const ModelCall&) override { throw ModelError("no model here"); }
  void Log(LogLevel, std::string_view) override {}

 private:
  std::string text_;
  json object_ = json::object();
};

// A temporary file that is removed at the end of the test.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& suffix, const std::string& content) {
    path_ = testing::TempDir() + "agent-graph-XXXXXX" + suffix;
    int fd = mkstemps(path_.data(), static_cast<int>(suffix.size()));
    close(fd);
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string Problem(const std::string& module, const std::string& attribute) {
  auto graph = LoadGraph(module, attribute);
  if (graph.ok()) return "loaded";
  EXPECT_EQ(graph.status().code(), StatusCode::kGraph);
  std::string text = graph.status().message();
  EXPECT_THAT(text, StartsWith(module + ": "));
  EXPECT_EQ(text.find('\n'), std::string::npos);
  return text.substr(std::min(text.size(), module.size() + 2));
}

std::string DocumentProblem(const std::string& graph) {
  TemporaryFile file(".json", R"({"app":)" + graph + "}");
  return Problem(file.path(), "app");
}

TEST(LoadTest, BothSamplesAreTheSameGraph) {
  for (const char* file : {"support.so", "support.json"}) {
    auto graph = LoadGraph(kSamples + file, "app");
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    EXPECT_EQ((*graph)->name(), "support");
    ASSERT_EQ((*graph)->nodes().size(), 5u);
    EXPECT_EQ((*graph)->edges().size(), 9u);
    const auto* agent = std::get_if<Agent>(&(*graph)->FindNode("MAIN")->kind);
    ASSERT_NE(agent, nullptr);
    EXPECT_EQ(agent->system_prompt, "You are a friendly support agent. Answer briefly.");
    ASSERT_NE((*graph)->ToolsOf(*agent), nullptr);
    for (const char* tool : {"current_time", "calculator", "remember", "recall"}) {
      EXPECT_NE((*graph)->ToolsOf(*agent)->Find(tool), nullptr) << tool;
    }
    EXPECT_EQ(*(*graph)->Next(START, State()), "MAIN");
    EXPECT_EQ(*(*graph)->Next("MAIN", State()), END);
    for (const auto& [tool, next] : {std::pair("calculator", "TOOLS"), {"remember", "ASK"}}) {
      Message calling;
      calling.role = Role::kAssistant;
      calling.content = {ToolCallBlock{.id = "c", .name = tool}};
      State state;
      state.mutable_messages() = {calling};
      EXPECT_EQ(*(*graph)->Next("MAIN", state), next);
    }
    for (const auto& [answer, next] : {std::pair("yes", "TOOLS"), {"no", "DENIED"}}) {
      State state;
      state.mutable_messages() = {Message::User(answer)};
      EXPECT_EQ(*(*graph)->Next("DECIDE", state), next);
    }
  }
}

TEST(LoadTest, CodeOfASharedObjectRuns) {
  auto graph = LoadGraph(kTestGraphs + "behaviours.so", "echo");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  State state;
  state.mutable_messages().push_back(Message::User("hello"));
  const auto& node = std::get<FunctionNode>((*graph)->FindNode("ECHO")->kind);
  FakeRunContext context;
  NodeResult result = node.function(state, context);
  ASSERT_EQ(result.messages.size(), 1u);
  EXPECT_EQ(result.messages[0].Text(), "echo: hello");
  ASSERT_TRUE((*graph)->ApplyUpdates(result.updates, state).ok());
  EXPECT_EQ(state.Field("visits"), json::array({"ECHO"}));
}

TEST(LoadTest, ExceptionsCrossTheLibraryBoundary) {
  auto graph = LoadGraph(kTestGraphs + "behaviours.so", "throwing");
  ASSERT_TRUE(graph.ok());
  const auto& node = std::get<FunctionNode>((*graph)->FindNode("BROKEN")->kind);
  FakeRunContext context;
  EXPECT_THROW(node.function(State(), context), std::runtime_error);
}

TEST(LoadTest, HashFollowsTheFile) {
  auto first = LoadGraph(kSamples + "support.json", "app");
  auto again = LoadGraph(kSamples + "support.json", "app");
  EXPECT_EQ((*first)->hash(), (*again)->hash());
  std::ifstream stream(kSamples + "support.json");
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  TemporaryFile changed(".json", text + "\n");
  auto other = LoadGraph(changed.path(), "app");
  ASSERT_TRUE(other.ok());
  EXPECT_NE((*first)->hash(), (*other)->hash());
}

SealedCopy CopyOf(const std::string& path) {
  SealedCopies copies;
  return copies.Of(path, ModuleBytesMax(path)).value();
}

// A worker loads the validated copy, whatever file is at the path by then. A reused descriptor
// number is not mistaken for the earlier file.
TEST(LoadTest, ACopyIsUsedInsteadOfThePath) {
  std::string gone = testing::TempDir() + "no-such-graph.so";
  int first_descriptor = -1;
  for (int round = 0; round < 2; ++round) {
    const SealedCopy copy = CopyOf(kTestGraphs + (round == 0 ? "behaviours.so" : "broken.so"));
    if (round == 0) first_descriptor = DescriptorOf(copy);
    EXPECT_EQ(DescriptorOf(copy), first_descriptor);
    auto graph = LoadGraph(gone, "echo", copy);
    EXPECT_EQ(graph.ok(), round == 0) << graph.status().ToString();
    if (round == 1) {
      EXPECT_THAT(graph.status().message(), HasSubstr("exports no graph"));
    }
  }
  TemporaryFile document(".json", R"({"app":{"nodes":[{"name":"A","type":"reply","text":"x"}],
                                             "edges":[{"from":"START","to":"A"}]}})");
  EXPECT_TRUE(LoadGraph("gone.json", "app", CopyOf(document.path())).ok());
}

// Code finds files next to it with dladdr, and a debugger finds its symbols.
TEST(LoadTest, CodeOfACopyIsNamedAfterItsFile) {
  const SealedCopy copy = CopyOf(kTestGraphs + "ordering.so");
  Result<const void*> symbol = FindExport("named.so", copy, "agent_graph_export_app");
  ASSERT_TRUE(symbol.ok()) << symbol.status().ToString();
  Dl_info info{};
  ASSERT_NE(dladdr(*symbol, &info), 0);
  EXPECT_EQ(info.dli_fname, std::filesystem::canonical(kTestGraphs + "ordering.so"));
}

// Two parts of a configuration that name the same file share its variables, as if it were loaded by
// path.
TEST(LoadTest, OneCopyIsLoadedOnce) {
  const SealedCopy copy = CopyOf(kTestGraphs + "ordering.so");
  auto first = FindExport("first.so", copy, "agent_graph_export_app");
  auto again = FindExport("again.so", copy, "agent_graph_export_app");
  EXPECT_EQ(first.value(), again.value());
  auto other =
      FindExport("other.so", CopyOf(kTestGraphs + "ordering.so"), "agent_graph_export_app");
  EXPECT_NE(first.value(), other.value());
}

TEST(LoadTest, WrongFiles) {
  EXPECT_THAT(Problem("/no/such/graph.so", "app"), HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(Problem("/no/such/graph.json", "app"), HasSubstr("cannot be opened: No such file"));
  EXPECT_EQ(Problem("graph.py", "app"), "a graph's file ends in .so or .json");
  TemporaryFile text(".so", "just text");
  EXPECT_EQ(Problem(text.path(), "app"), "is not a shared object");
  TemporaryFile truncated(".so", "\177ELF and then nothing");
  EXPECT_THAT(Problem(truncated.path(), "app"), StartsWith("cannot be loaded: "));
  std::string directory = testing::TempDir() + "directory.so";
  std::filesystem::create_directory(directory);
  EXPECT_EQ(Problem(directory, "app"), "is not a regular file");
  std::filesystem::remove(directory);
}

TEST(LoadTest, BrokenSharedObjects) {
  std::string module = kTestGraphs + "broken.so";
  const std::pair<const char*, std::string> cases[] = {
      {"missing",
       "exports no graph \"missing\": it needs AGENT_GRAPH_EXPORT(missing, YourBuildFunction)"},
      {"a-b", "\"a-b\" cannot be an export: letters, digits and _ only"},
      {"throwing", "the build function of \"throwing\" failed: no configuration"},
      {"throwing_number",
       "the build function of \"throwing_number\" failed with an exception that is not a "
       "std::exception"},
      {"empty", "empty: the graph has no nodes; no edge leaves START"},
      {"no_magic", "the export \"no_magic\" is not a graph"},
      {"other_sdk", "built with SDK " + VersionText(kSdkVersion + 100) + ", the server has " +
                        VersionText(kSdkVersion) + ": compile it again with the server's headers"},
      {"other_layout",
       "built with other type layouts than the server: compile it again with the server's headers"},
      {"old_standard",
       "built with C++ standard 201703, the server needs 202002 or later: compile it with "
       "-std=c++20"},
      {"old_strings",
       "built with another standard library ABI than the server (libstdc++ with "
       "_GLIBCXX_USE_CXX11_ABI=1)"}};
  for (const auto& [attribute, problem] : cases) EXPECT_EQ(Problem(module, attribute), problem);
  EXPECT_THAT(Problem(module, "other_json"), StartsWith("built with nlohmann/json 3."));
  std::string unresolved = Problem(kTestGraphs + "unresolved.so", "app");
  EXPECT_THAT(unresolved, StartsWith("cannot be loaded: undefined symbol: "));
  EXPECT_THAT(unresolved, EndsWith("compile it again)"));
}

// --- the declarative form ----------------------------------------------------------------------

constexpr char kNodes[] = R"("nodes":[{"name":"A","type":"agent"},{"name":"B","type":"reply"}])";

std::string WithEdges(const std::string& edges) {
  return "{" + std::string(kNodes) + R"(,"edges":[)" + edges + "]}";
}

std::string WithNode(const std::string& node) {
  return R"({"nodes":[)" + node + R"(],"edges":[{"from":"START","to":"A"}]})";
}

std::string WithKey(const std::string& member) {
  return R"({"nodes":[{"name":"A","type":"agent"}],"edges":[{"from":"START","to":"A"}],)" + member +
         "}";
}

struct DocumentMistake {
  std::string graph;
  std::string problem;
};

class DocumentMistakeTest : public testing::TestWithParam<DocumentMistake> {};

TEST_P(DocumentMistakeTest, NamesThePath) {
  EXPECT_EQ(DocumentProblem(GetParam().graph), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Declarative, DocumentMistakeTest,
    testing::Values(
        DocumentMistake{"[]", "app: must be an object"},
        DocumentMistake{"{}", "app: the graph has no nodes; no edge leaves START"},
        DocumentMistake{R"({"nodes":{}})", "app.nodes: must be an array"},
        DocumentMistake{WithNode("5"), "app.nodes.0: must be an object"},
        DocumentMistake{WithNode(R"({"type":"agent"})"), "app.nodes.0.name: is required"},
        DocumentMistake{WithNode(R"({"name":"A","type":"robot"})"),
                        "app.nodes.0.type: must be one of agent, tools, reply, graph, live_agent"},
        DocumentMistake{
            WithNode(R"({"name":"A","type":"agent","promt":"x"})"),
            "app.nodes.0.promt: unknown key; valid keys: model, name, output_field, "
            "parameters, retry, stream, system_prompt, timeout_ms, tool_node, tools_tags, type"},
        DocumentMistake{WithNode(R"({"name":"A","type":"agent","model":7})"),
                        "app.nodes.0.model: must be a string"},
        DocumentMistake{WithNode(R"({"name":"A","type":"agent","stream":"yes"})"),
                        "app.nodes.0.stream: must be true or false"},
        DocumentMistake{WithNode(R"({"name":"A","type":"agent","parameters":[]})"),
                        "app.nodes.0.parameters: must be an object"},
        DocumentMistake{WithNode(R"({"name":"A","type":"agent","tool_node":"T"})"),
                        "app.nodes.0.tool_node: there is no node \"T\""},
        DocumentMistake{WithNode(R"({"name":"A","type":"agent","tool_node":"A"})"),
                        "app.nodes.0.tool_node: \"A\" is not a node of type tools"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":["rm"]})"),
                        "app.nodes.0.tools.0: there is no tool \"rm\"; valid names: calculator, "
                        "current_time, remember, recall"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":[1]})"),
                        "app.nodes.0.tools.0: must be the name of a built-in tool, or an object"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":[{"name":"t"}]})"),
                        "app.nodes.0.tools.0.url: is required"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":[
                                      {"name":"t","url":"http://h/{x}"}]})"),
                        "app.nodes.0.tools.0.url: the argument {x} is not among the parameters' "
                        "properties"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":[
                                      {"name":"t","url":"http://h/","timeout_ms":0}]})"),
                        "app.nodes.0.tools.0.timeout_ms: must be an integer from 1 to 3600000"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","tools":[
                                      {"name":"t","url":"http://h/","headers":{"A":1}}]})"),
                        "app.nodes.0.tools.0.headers.A: must be a string"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","mcp_servers":[
                                      {"name":"m","uri":"http://h/"}]})"),
                        "app.nodes.0.mcp_servers.0: needs either a url or a command"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","mcp_servers":[
                                      {"name":"m","url":"http://h/","elicitation":"yes"}]})"),
                        "app.nodes.0.mcp_servers.0.elicitation: must be ask, repeat or decline"},
        DocumentMistake{WithNode(R"({"name":"A","type":"tools","mcp_servers":[
                                      {"name":"m","command":"/m","session_per_call":true}]})"),
                        "app.nodes.0.mcp_servers.0.session_per_call: needs a url"},
        DocumentMistake{WithNode(R"({"name":"A","type":"reply","set":{"context":[]}})"),
                        "app.nodes.0.set.context: belongs to the state itself"},
        DocumentMistake{WithNode(R"({"name":"A","type":"reply"},{"name":"A","type":"reply"})"),
                        "app.nodes.1.name: there is another node \"A\""},
        DocumentMistake{WithNode(R"({"name":"END","type":"reply"})"),
                        "app.nodes.0.name: START and END are taken"},
        DocumentMistake{WithEdges(R"({"from":"START","to":"Z"})"),
                        "app.edges.0.to: there is no node \"Z\""},
        DocumentMistake{WithEdges(R"({"from":"Z","to":"A"})"),
                        "app.edges.0.from: there is no node \"Z\""},
        DocumentMistake{WithEdges(R"({"from":"START"})"), "app.edges.0.to: is required"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[]})"),
                        "app.edges.0.otherwise: is required"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[7],"otherwise":"A"})"),
                        "app.edges.0.when.0: must be an object"},
        DocumentMistake{
            WithEdges(R"({"from":"START","when":[{"to":"B"}],"otherwise":"A"})"),
            "app.edges.0.when.0: needs one of tool_calls_pending, field, last_text_contains"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"field":"x","to":"B"}],
                                      "otherwise":"A"})"),
                        "app.edges.0.when.0: a field needs one of equals, not_equals, above, "
                        "below, contains, exists"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"field":"x","above":"1","to":"B"}],
                                      "otherwise":"A"})"),
                        "app.edges.0.when.0.above: must be a number"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"field":"x","above":1,"below":2,
                                      "to":"B"}],"otherwise":"A"})"),
                        "app.edges.0.when.0: one comparison at a time"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"tool_calls_pending":1,"to":"B"}],
                                      "otherwise":"A"})"),
                        "app.edges.0.when.0.tool_calls_pending: must be true or false"},
        DocumentMistake{WithEdges(R"({"from":"START","when":[{"tool_calls_pending":[],"to":"B"}],
                                      "otherwise":"A"})"),
                        "app.edges.0.when.0.tool_calls_pending: needs the name of a tool"},
        DocumentMistake{WithEdges(R"({"from":"START","to":"A"})"),
                        "app: node \"B\" cannot be reached"},
        DocumentMistake{WithKey(R"("fields":[])"), "app.fields: must be an object"},
        DocumentMistake{
            WithKey(R"("fields":{"f":{"reducer":"product"}})"),
            "app.fields.f.reducer: must be one of replace, append, sum, min, max, union, merge"},
        DocumentMistake{WithKey(R"("fields":{"f":{"reducer":"append","default":1}})"),
                        "app.fields.f.default: must be of type array"},
        DocumentMistake{WithKey(R"("fields":{"execution_meta":{}})"),
                        "app.fields.execution_meta: the name belongs to the state itself"},
        DocumentMistake{WithKey(R"("interrupt_before":["Z"])"),
                        "app.interrupt_before.0: there is no node \"Z\""},
        DocumentMistake{WithKey(R"("interrupt_after":"A")"),
                        "app.interrupt_after: must be an array"}));

TEST(DeclarativeTest, DocumentMistakes) {
  TemporaryFile broken(".json", "{\n  \"app\": {]");
  EXPECT_EQ(LoadGraph(broken.path(), "app").status().message(),
            broken.path() + ":2:11: not valid JSON");
  TemporaryFile twice(".json", "{\n  \"app\": {},\n  \"app\": {}}");
  EXPECT_EQ(LoadGraph(twice.path(), "app").status().message(),
            twice.path() + ":3:3: app: is there twice");
  TemporaryFile list(".json", "[]");
  EXPECT_EQ(Problem(list.path(), "app"), "must be a JSON object");
  EXPECT_EQ(Problem(kSamples + "support.json", "main"),
            "there is no graph \"main\"; the document has: app");
}

TEST(DeclarativeTest, ConditionsRepliesAndFields) {
  TemporaryFile file(".json", R"({"flow":{
    "nodes":[{"name":"ASK","type":"reply","text":"Sure?","set":{"asked":true,"log":"ASK"},
              "pause":"wants a yes"},
             {"name":"GOLD","type":"reply","text":"gold"},
             {"name":"BYE","type":"reply","text":"bye"}],
    "edges":[{"from":"START","when":[{"last_text_contains":"Good Bye","to":"BYE"},
                {"field":"customer.tier","equals":"gold","to":"GOLD"},
                {"field":"score","above":3,"to":"GOLD"},
                {"field":"tags","contains":"vip","to":"GOLD"},
                {"field":"asked","exists":true,"to":"END"}],"otherwise":"ASK"},
             {"from":"ASK","to":"END"}],
    "fields":{"log":{"reducer":"append"},"score":{"default":1}},
    "interrupt_after":["GOLD"]}})");
  auto loaded = LoadGraph(file.path(), "flow");
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const CompiledGraph& graph = **loaded;
  EXPECT_EQ(graph.name(), "flow");
  EXPECT_TRUE(graph.InterruptsAfter("GOLD"));
  auto start_with = [&](const char* fields, const char* text) {
    State state;
    state.mutable_messages().push_back(Message::User(text));
    EXPECT_TRUE(graph.SetFields(json::parse(fields), state).ok());
    graph.AddMissingFields(state);
    return graph.Next(START, state).value();
  };
  EXPECT_EQ(start_with("{}", "hi"), "ASK");
  EXPECT_EQ(start_with("{}", "well, GOOD BYE then"), "BYE");
  EXPECT_EQ(start_with(R"({"customer":{"tier":"gold"}})", "hi"), "GOLD");
  EXPECT_EQ(start_with(R"({"customer":"gold"})", "hi"), "ASK");
  EXPECT_EQ(start_with(R"({"score":3.5})", "hi"), "GOLD");
  EXPECT_EQ(start_with(R"({"score":"9"})", "hi"), "ASK");
  EXPECT_EQ(start_with(R"({"tags":["new","vip"]})", "hi"), "GOLD");
  EXPECT_EQ(start_with(R"({"asked":false})", "hi"), END);

  const auto& node = std::get<FunctionNode>(graph.FindNode("ASK")->kind);
  EXPECT_EQ(node.execution, Execution::kNonBlocking);
  State state;
  FakeRunContext context;
  NodeResult result = node.function(state, context);
  EXPECT_EQ(result.messages[0].Text(), "Sure?");
  EXPECT_EQ(result.interrupt->reason, "wants a yes");
  ASSERT_TRUE(graph.ApplyUpdates(result.updates, state).ok());
  EXPECT_EQ(state.fields(), json::parse(R"({"asked":true,"log":["ASK"]})"));
}

std::string SourceText(const std::string& path) {
  std::ifstream stream(std::string(AGENT_GRAPH_SOURCE "/") + path);
  return std::string((std::istreambuf_iterator<char>(stream)), {});
}

TEST(DeclarativeTest, SchemaKnowsTheSameTools) {
  json schema = json::parse(SourceText("conf/graph.schema.json"));
  EXPECT_EQ(schema["$defs"]["ToolsNode"]["properties"]["tools"]["items"]["anyOf"][0]["enum"],
            json(tools::BuiltinNames()));
}

TEST(DeclarativeTest, TheExampleOfTheDocumentationLoads) {
  std::string manual = SourceText("docs/sdk.md");
  size_t begin = manual.find("```json\n{\n  \"app\"");
  ASSERT_NE(begin, std::string::npos);
  begin += std::string("```json\n").size();
  TemporaryFile example(".json", manual.substr(begin, manual.find("```", begin) - begin));
  auto graph = LoadGraph(example.path(), "app");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ((*graph)->nodes().size(), 3u);
}

}  // namespace
}  // namespace agent_graph::graph

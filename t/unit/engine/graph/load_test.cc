#include "graph/load.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "agent_graph/json.h"
#include "agent_graph/version.h"
#include "graph/shared_object.h"
#include "load_fixture.h"

namespace agent_graph::graph {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string VersionText(uint32_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
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
    for (const auto& [tool, next] : {std::pair("calculator", "TOOL"), {"remember", "ASK"}}) {
      Message calling;
      calling.role = Role::kAssistant;
      calling.content = {ToolCallBlock{.id = "c", .name = tool}};
      State state;
      state.mutable_messages() = {calling};
      EXPECT_EQ(*(*graph)->Next("MAIN", state), next);
    }
    for (const auto& [answer, next] : {std::pair("yes", "TOOL"), {"no", "DENIED"}}) {
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
  EXPECT_THAT(unresolved, StartsWith("cannot be loaded: undefined symbol: "
                                     "agent_graph::FunctionOfTheFuture() ("));
  EXPECT_THAT(unresolved, EndsWith("compile it again)"));
}

// --- the declarative form ----------------------------------------------------------------------

}  // namespace
}  // namespace agent_graph::graph

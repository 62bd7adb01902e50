#include "tools/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "agent_graph/json.h"
#include "catalog_fixture.h"
#include "scripted_mcp_server.h"
#include "tools/mcp/protocol/client.h"
#include "tools/mcp/source.h"
#include "tools/mcp/tool_result.h"

namespace agent_graph::tools {
namespace {

using ::testing::ElementsAre;

TEST_F(CatalogTest, AnUnknownNodeHasNothing) {
  Make({});
  EXPECT_TRUE(List().empty());
}

TEST_F(CatalogTest, EveryPageWithThePrefix) {
  ScriptedMcpServer server;
  server.SetPages({{"read", "b.c"}, {}, {"d"}});
  MakeWith(server, {.prefix = "x_"});
  EXPECT_THAT(Names(), ElementsAre("x_read", "x_b_c", "x_d"));
  const ToolList list = List();
  EXPECT_EQ(list[0]->origin, ToolOrigin::kMcp);
  EXPECT_TRUE(list[0]->tool.idempotent);
  EXPECT_FALSE(list[1]->tool.idempotent);
  EXPECT_EQ(list[1]->tool.description, "Does b.c");
  EXPECT_EQ(list[1]->tool.parameters_json, R"({"type":"object"})");
}

TEST_F(CatalogTest, ListedOncePerWorker) {
  ScriptedMcpServer server;
  server.SetPages({{"a"}});
  MakeWith(server);
  for (int i = 0; i < 5; ++i) EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_THAT(server.methods(), ElementsAre("server/discover", "initialize",
                                            "notifications/initialized", "tools/list"));
}

TEST_F(CatalogTest, OnlySomeTools) {
  ScriptedMcpServer server;
  server.SetPages({{"a", "b", "c", "a"}});
  MakeWith(server, {.tools = {"a", "c"}});
  EXPECT_THAT(Names(), ElementsAre("a", "c"));
  EXPECT_NE(log().find("two tools are named a"), std::string::npos);
}

TEST_F(CatalogTest, Calls) {
  ScriptedMcpServer server;
  server.SetPages({{"echo", "unhappy", "fail"}});
  MakeWith(server);
  EXPECT_EQ(json::parse(Call("echo", {{"a", 1}}).json), R"({"a":1})");
  EXPECT_TRUE(Call("unhappy").is_error);
  EXPECT_TRUE(Call("fail").is_error);
  EXPECT_EQ(Call("fail").json, R"("no such")");
}

TEST_F(CatalogTest, RepliesAsEvents) {
  ScriptedMcpServer server;
  server.stream = true;
  server.SetPages({{"echo"}});
  MakeWith(server);
  EXPECT_EQ(json::parse(Call("echo", {{"a", 1}}).json), R"({"a":1})");
  EXPECT_THAT(server.methods(), ::testing::Contains("answer")) << "the ping was answered";
}

TEST_F(CatalogTest, ChangesThatTheServerAnnounces) {
  ScriptedMcpServer server;
  server.announces = true;
  server.SetPages({{"a"}});
  MakeWith(server);
  EXPECT_THAT(Names(), ElementsAre("a"));
  while (!server.Announce()) std::this_thread::yield();  // until the worker is listening
  server.SetPages({{"a", "b"}});
  server.Announce();
  while (Names().size() != 2) std::this_thread::yield();
  EXPECT_THAT(Names(), ElementsAre("a", "b"));
}

// Until the worker listens again, it lists the tools repeatedly, as runs do.
TEST_F(CatalogTest, ListensInTheSessionThatFollowsALostOne) {
  for (const int status : {404, 400}) {
    ScriptedMcpServer server;
    server.announces = true;
    server.lost_status = status;
    server.SetPages({{"a"}});
    MakeWith(server);
    EXPECT_THAT(Names(), ElementsAre("a"));
    while (!server.Announce()) std::this_thread::yield();
    server.ForgetSessions();
    server.EndStreams();
    while (!server.Announce()) Names();
    server.SetPages({{"a", "b"}});
    server.Announce();
    while (Names().size() != 2) std::this_thread::yield();
    catalog_->Close(runtime_);
  }
}

TEST_F(CatalogTest, ListensAfterItWasRefusedOnce) {
  ScriptedMcpServer server;
  server.announces = true;
  server.refusals = 1;
  server.SetPages({{"a"}});
  MakeWith(server);
  while (!server.Announce()) EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(CatalogTest, AsksForAStreamOncePerSession) {
  ScriptedMcpServer server;
  server.announces = true;
  server.refusals = 1;
  server.refused_with = 405;
  server.SetPages({{"echo"}});
  MakeWith(server);
  EXPECT_THAT(Names(), ElementsAre("echo"));
  while (server.refusals > 0) std::this_thread::yield();
  EXPECT_THAT(Names(), ElementsAre("echo"));
  EXPECT_FALSE(server.Announce());
  server.ForgetSessions();
  EXPECT_FALSE(Call("echo").is_error);
  while (!server.Announce()) EXPECT_THAT(Names(), ElementsAre("echo"));
}

// No tool is called twice: the server refused the first request because of its session.
TEST_F(CatalogTest, ANewSessionWhenTheServerForgot) {
  for (const int status : {404, 400}) {
    ScriptedMcpServer server;
    server.lost_status = status;
    server.SetPages({{"echo"}});
    MakeWith(server);
    EXPECT_THAT(Names(), ElementsAre("echo"));
    server.ForgetSessions();
    server.SetPages({{"echo", "new"}});
    EXPECT_FALSE(Call("echo").is_error);
    EXPECT_THAT(Names(), ElementsAre("echo", "new")) << "the list is read again";
    catalog_->Close(runtime_);
  }
}

TEST_F(CatalogTest, AServerThatFailsContributesNothing) {
  ScriptedMcpServer good;
  ScriptedMcpServer broken;
  good.SetPages({{"a"}});
  broken.broken = true;
  McpServer closed{.name = "closed",
                   .url = "http://127.0.0.1:" + std::to_string(testing::ClosedPort()) + "/mcp"};
  Make({{.name = "broken", .url = broken.url()}, closed, {.name = "good", .url = good.url()}});
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_NE(log().find("MCP server broken: contributes no tools"), std::string::npos);
  EXPECT_NE(log().find("MCP server closed: contributes no tools"), std::string::npos);
}

TEST_F(CatalogTest, AListWithoutEndIsRefused) {
  ScriptedMcpServer server;
  const std::vector<std::string> page(mcp::kListedToolsMax / 4, "a");
  server.SetPages({page, page, page, page, page});
  MakeWith(server);
  EXPECT_TRUE(List().empty());
  EXPECT_NE(log().find("the list of tools is too long"), std::string::npos) << log();
}

TEST_F(CatalogTest, ManyToolsWithMistakesAreFewLinesOfTheLog) {
  ScriptedMcpServer server;
  std::vector<std::string> page(2000, std::string(100, 'x') + "\nnext line");
  for (int i = 0; i < 1000; ++i) page.push_back("t" + std::to_string(i));
  server.SetPages({page});
  MakeWith(server);
  EXPECT_EQ(List().size(), mcp::kToolsMax);
  const std::string lines = log();
  EXPECT_LT(std::count(lines.begin(), lines.end(), '\n'), 20) << lines;
}

TEST_F(CatalogTest, AReplyToAnotherRequestIsNone) {
  ScriptedMcpServer server;
  server.wrong_id = true;
  server.SetPages({{"a"}});
  MakeWith(server);
  EXPECT_TRUE(Call("a").is_error);
  // A stream with only such replies ends without the expected one.
  server.stream = true;
  EXPECT_TRUE(Call("a").is_error);
}

TEST_F(CatalogTest, AServerThatNeverAnswersIsNotWaitedForLong) {
  testing::ScriptedServer server(
      [](testing::Connection& connection) { connection.WaitUntilPeerCloses(); });
  Make({{.name = "s", .url = server.url(), .discovery_timeout = std::chrono::milliseconds(50)}});
  EXPECT_TRUE(List().empty());
}

TEST_F(CatalogTest, TheServerIsToldWhenTheCallerGivesUp) {
  ScriptedMcpServer server;
  server.silent = true;
  server.SetPages({{"slow"}});
  MakeWith(server);
  const ToolList list = List();
  ASSERT_EQ(list.size(), 1u);
  // The deadline must not pass before the request has reached the server.
  for (std::chrono::milliseconds wait{50};; wait *= 2) {
    TestContext late({}, DeadlineAfter(wait));
    const ToolOutput output = Run([&] { return list[0]->tool.function(json::object(), late); });
    EXPECT_EQ(output.json, R"("the tool did not answer within 60000 ms")");
    const std::vector<std::string> methods = server.methods();
    if (std::ranges::find(methods, "tools/call") != methods.end()) break;
  }
  catalog_->Close(runtime_);
  OnFiber::TearDown();
  catalog_ = nullptr;
  EXPECT_THAT(server.methods(), ::testing::Contains("notifications/cancelled"));
}

TEST_F(CatalogTest, NamesAreTakenOnce) {
  ScriptedMcpServer server;
  server.SetPages({{"a", "b"}});
  Make({{.name = "s", .url = server.url()}, {.name = "t", .url = server.url()}},
       {{.name = "a", .url = "http://h/"}});
  EXPECT_THAT(Names(), ElementsAre("a", "b"));
  EXPECT_EQ(List()[0]->origin, ToolOrigin::kLocal);
}

TEST(CatalogCreateTest, Mistakes) {
  const auto problem = [](const NodeSources& node) {
    return Catalog::Create({node}, {}).status().message();
  };
  EXPECT_EQ(problem({"N", {{.name = "t", .url = "http://${NO}/"}}, {}}),
            "node \"N\", tool \"t\": url: environment variable NO is not set");
  EXPECT_EQ(problem({"N", {}, {{.name = "m", .url = "http://h/{x}"}}}),
            "node \"N\", MCP server \"m\": url: takes no arguments");
  EXPECT_EQ(problem({"N", {}, {{.name = "m", .url = "http://h/", .headers = {{"A", "${NO}"}}}}}),
            "node \"N\", MCP server \"m\": headers.A: environment variable NO is not set");
}

TEST(McpToolResultTest, Outputs) {
  const auto output = [](const char* text) { return mcp::ToOutput(json::parse(text)); };
  EXPECT_EQ(output(R"({"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]})").json,
            R"("a\nb")");
  EXPECT_EQ(output(R"({"content":[{"type":"text","text":"a"}],"structuredContent":{"x":1}})").json,
            R"({"x":1})");
  EXPECT_EQ(output(R"({"content":[{"type":"image","data":"AA=="}]})").json,
            R"([{"type":"image","data":"AA=="}])");
  EXPECT_TRUE(output(R"({"content":[],"isError":true})").is_error);
  EXPECT_EQ(output("{}").json, "null");
}

TEST(McpToolResultTest, ToolsThatCannotBeOffered) {
  EXPECT_FALSE(mcp::ToTool(json::array(), "").ok());
  EXPECT_FALSE(mcp::ToTool({{"name", ""}}, "").ok());
  EXPECT_FALSE(mcp::ToTool({{"name", std::string(60, 'a')}}, "prefix_").ok());
  EXPECT_FALSE(
      mcp::ToTool({{"name", "a"}, {"inputSchema", {{"x", std::string(100'000, 'a')}}}}, "").ok());
}

}  // namespace
}  // namespace agent_graph::tools

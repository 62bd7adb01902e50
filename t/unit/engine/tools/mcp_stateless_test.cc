// The protocol without sessions: content of each request, headers, changes, hostile answers.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "catalog_fixture.h"
#include "request_script.h"
#include "stateless_server.h"
#include "tools/mcp/source.h"

namespace agent_graph::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Methods(const RequestScript& server) {
  std::vector<std::string> methods;
  for (const ScriptedRequest& request : server.requests()) methods.push_back(request.method);
  return methods;
}

class McpStatelessTest : public CatalogTest {};

TEST_F(McpStatelessTest, EveryRequestSaysItsRevision) {
  RequestScript server(Stateless(Done));
  MakeWith(server);
  EXPECT_EQ(Call("echo", {{"a", 1}}).json, R"("done")");
  EXPECT_THAT(Methods(server), ElementsAre("server/discover", "tools/list", "tools/call"));
  for (const ScriptedRequest& request : server.requests()) {
    EXPECT_EQ(request.Header("MCP-Protocol-Version"), kRevision);
    EXPECT_EQ(request.Header("Mcp-Method"), request.method);
    EXPECT_EQ(request.Header("Mcp-Session-Id"), "");
    const json& meta = request.params["_meta"];
    EXPECT_EQ(meta["io.modelcontextprotocol/protocolVersion"], kRevision);
    EXPECT_EQ(meta["io.modelcontextprotocol/clientInfo"]["name"], "agent-graph");
    EXPECT_TRUE(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
  }
  const auto calls = server.requests("tools/call");
  EXPECT_EQ(calls[0].Header("Mcp-Name"), "echo");
  EXPECT_EQ(calls[0].params["arguments"], json({{"a", 1}}));
}

TEST_F(McpStatelessTest, AResultWithoutATypeIsComplete) {
  RequestScript server(Stateless([](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Reply(connection, request, RequestScript::Text("bare"));
  }));
  MakeWith(server);
  EXPECT_EQ(Call("echo").json, R"("bare")");
}

TEST_F(McpStatelessTest, AResultOfAnUnknownTypeIsAFailure) {
  RequestScript server(Stateless([](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Reply(connection, request, {{"resultType", "task"}, {"taskId", "t"}});
  }));
  MakeWith(server);
  const ToolOutput output = Call("echo");
  EXPECT_TRUE(output.is_error);
  EXPECT_THAT(output.json, HasSubstr("of an unknown type"));
}

TEST_F(McpStatelessTest, ABrokenStreamIsNotResumedAndNothingIsCancelledByMessage) {
  RequestScript server(Stateless([](Connection& connection, const ScriptedRequest&) {
    return RequestScript::Stream(connection, "id: a\nretry: 1\ndata: \n\n");
  }));
  MakeWith(server);
  EXPECT_TRUE(Call("echo").is_error);
  EXPECT_THAT(Methods(server), ElementsAre("server/discover", "tools/list", "tools/call"));
}

TEST_F(McpStatelessTest, ACallIsCancelledByItsConnection) {
  std::atomic<bool> closed = false;
  RequestScript server(Stateless([&](Connection& connection, const ScriptedRequest&) {
    connection.WaitUntilPeerCloses();
    closed = true;
    return false;
  }));
  MakeWith(server);
  const ToolList list = List();
  ASSERT_EQ(list.size(), 1u);
  // The deadline must not pass before the request has reached the server.
  for (std::chrono::milliseconds wait{50}; server.requests("tools/call").empty(); wait *= 2) {
    TestContext late({}, DeadlineAfter(wait));
    EXPECT_TRUE(Run([&] { return list[0]->tool.function(json::object(), late); }).is_error);
  }
  while (!closed) std::this_thread::yield();
  EXPECT_TRUE(server.requests("notifications/cancelled").empty());
}

TEST_F(McpStatelessTest, RequestsOfTheServerGetNoAnswer) {
  RequestScript server(Stateless([](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Stream(
        connection, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n" +
                        RequestScript::ReplyEvent(request.id, RequestScript::Text("x")));
  }));
  MakeWith(server);
  EXPECT_EQ(Call("echo").json, R"("x")");
  EXPECT_THAT(Methods(server), ElementsAre("server/discover", "tools/list", "tools/call"));
}

// Detection of the era

// Arguments in headers

TEST_F(McpStatelessTest, MarkedArgumentsAreHeaders) {
  const json schema = {
      {"type", "object"},
      {"properties",
       {{"region", {{"type", "string"}, {"x-mcp-header", "Region"}}},
        {"limit", {{"type", "integer"}, {"x-mcp-header", "Limit"}}},
        {"where",
         {{"type", "object"},
          {"properties", {{"city", {{"type", "string"}, {"x-mcp-header", "City"}}}}}}},
        {"absent", {{"type", "string"}, {"x-mcp-header", "Absent"}}},
        {"plain", {{"type", "string"}}}}}};
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/list") {
      return RequestScript::Reply(connection, request, Listed(json::array({Echo(schema)})));
    }
    return Stateless(Done)(connection, request);
  });
  MakeWith(server);
  Call("echo", {{"region", "eu"}, {"limit", 7}, {"where", {{"city", "Zürich"}}}, {"plain", "x"}});
  const ScriptedRequest call = server.requests("tools/call").at(0);
  EXPECT_EQ(call.Header("Mcp-Param-Region"), "eu");
  EXPECT_EQ(call.Header("Mcp-Param-Limit"), "7");
  EXPECT_EQ(call.Header("Mcp-Param-City"), "=?base64?WsO8cmljaA==?=");
  EXPECT_THAT(call.head, ::testing::Not(HasSubstr("Absent")));
  EXPECT_THAT(call.head, ::testing::Not(HasSubstr("Mcp-Param-plain")));
}

TEST_F(McpStatelessTest, AToolWithAWrongMarkIsLeftOut) {
  const json good = {{"name", "good"}, {"inputSchema", {{"type", "object"}}}};
  const json bad = Echo({{"properties", {{"a", {{"type", "string"}, {"x-mcp-header", "a b"}}}}}});
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/list") {
      return RequestScript::Reply(connection, request, Listed(json::array({bad, good})));
    }
    return Stateless(Done)(connection, request);
  });
  MakeWith(server);
  EXPECT_THAT(Names(), ElementsAre("good"));
  EXPECT_THAT(log(),
              HasSubstr("tool echo is left out: x-mcp-header: must be the name of a header"));
}

TEST_F(McpStatelessTest, AToolThatTakesNoObjectIsLeftOut) {
  const json good = {{"name", "good"}, {"inputSchema", {{"type", "object"}}}};
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/list") {
      const json bad = Echo({{"type", "array"}, {"items", {{"type", "string"}}}});
      return RequestScript::Reply(connection, request, Listed(json::array({bad, good})));
    }
    return Stateless(Done)(connection, request);
  });
  MakeWith(server);
  EXPECT_THAT(Names(), ElementsAre("good"));
  EXPECT_THAT(log(), HasSubstr("tool echo is left out: its inputSchema.type: must be or include"));
}

TEST_F(McpStatelessTest, AToolThatNeedsTasksIsLeftOut) {
  const json schema = {{"type", "object"}};
  const auto described = [&](const char* support) {
    return json{
        {"name", support}, {"inputSchema", schema}, {"execution", {{"taskSupport", support}}}};
  };
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/list") {
      return RequestScript::Reply(connection, request,
                                  Listed(json::array({described("required"), described("optional"),
                                                      described("forbidden")})));
    }
    return Stateless(Done)(connection, request);
  });
  MakeWith(server);
  EXPECT_THAT(Names(), ElementsAre("optional", "forbidden"));
  EXPECT_THAT(log(), HasSubstr("tool required is left out: it can only be called as a task"));
}

// In a session such marks have no meaning.
TEST_F(McpStatelessTest, MarksMeanNothingInASession) {
  const json bad = Echo({{"properties", {{"a", {{"type", "string"}, {"x-mcp-header", "a b"}}}}}});
  const auto session = WithSession([](Connection& c, const ScriptedRequest& r) {
    return RequestScript::Reply(c, r, RequestScript::Text("x"));
  });
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/list") {
      return RequestScript::Reply(connection, request, {{"tools", json::array({bad})}});
    }
    return session(connection, request);
  });
  MakeWith(server);
  EXPECT_FALSE(Call("echo", {{"a", "x"}}).is_error);
  EXPECT_THAT(server.requests("tools/call").at(0).head, ::testing::Not(HasSubstr("Mcp-Param")));
}

// Changes

TEST_F(McpStatelessTest, ListensToASubscription) {
  std::atomic<bool> grown = false;
  std::atomic<bool> listens = false;
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "server/discover") {
      return RequestScript::Reply(connection, request, Discovered(true));
    }
    if (request.method == "tools/list") {
      json tools = json::array({Echo()});
      if (grown) tools.push_back({{"name", "grown"}, {"inputSchema", {{"type", "object"}}}});
      return RequestScript::Reply(connection, request, Listed(tools));
    }
    EXPECT_EQ(request.method, "subscriptions/listen");
    EXPECT_EQ(request.params["notifications"], json({{"toolsListChanged", true}}));
    connection.Send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection.SendChunk(
        "data: {\"method\":\"notifications/subscriptions/acknowledged\",\"params\":"
        "{\"notifications\":{\"toolsListChanged\":true}}}\n\n");
    listens = true;
    while (!grown) std::this_thread::yield();
    connection.SendChunk("data: {\"method\":\"notifications/tools/list_changed\"}\n\n");
    connection.WaitUntilPeerCloses();
    return false;
  });
  MakeWith(server);
  EXPECT_THAT(Names(), ElementsAre("echo"));
  while (!listens) std::this_thread::yield();
  grown = true;
  while (Names().size() != 2) std::this_thread::yield();
}

TEST_F(McpStatelessTest, ListensNotAgainWhereNothingIsTold) {
  const std::vector<RequestScript::Answer> refusals = {
      [](Connection& c, const ScriptedRequest& r) {
        return RequestScript::Refuse(c, r, "404 What", {{"code", -32601}});
      },
      [](Connection& c, const ScriptedRequest& r) {
        return RequestScript::Reply(c, r, json::object());
      },
      [](Connection& c, const ScriptedRequest&) {
        return RequestScript::Stream(
            c,
            "data: {\"method\":\"notifications/subscriptions/acknowledged\",\"params\":"
            "{\"notifications\":{}}}\n\n");
      },
  };
  for (const auto& refusal : refusals) {
    std::atomic<int> listened = 0;
    RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
      if (request.method == "server/discover") {
        return RequestScript::Reply(connection, request, Discovered(true));
      }
      if (request.method != "subscriptions/listen") return Stateless(Done)(connection, request);
      const bool open = refusal(connection, request);
      ++listened;
      return open;
    });
    MakeWith(server);
    EXPECT_THAT(Names(), ElementsAre("echo"));
    while (listened == 0) std::this_thread::yield();
    for (int i = 0; i < 20; ++i) EXPECT_THAT(Names(), ElementsAre("echo"));
    EXPECT_EQ(listened, 1);
    catalog_->Close(runtime_);
  }
}

TEST_F(McpStatelessTest, AListIsAsFreshAsTheServerSays) {
  RequestScript server([](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/list") {
      return RequestScript::Reply(connection, request, Listed(json::array({Echo()}), 1));
    }
    return Stateless(Done)(connection, request);
  });
  MakeWith(server);
  EXPECT_THAT(Names(), ElementsAre("echo"));
  while (server.requests("tools/list").size() < 2) Names();
}

// Hostile answers

TEST_F(McpStatelessTest, ListsWithNonsense) {
  for (const json& result :
       {json({{"tools", 7}}), json({{"tools", {1, nullptr, json::array(), "x"}}}),
        json({{"tools", json::array()}, {"ttlMs", "soon"}}),
        json({{"tools", json::array()}, {"ttlMs", -5}}),
        json({{"tools", {{{"name", "x"}, {"inputSchema", 5}}}}, {"ttlMs", 1e300}})}) {
    RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
      if (request.method == "tools/list") {
        return RequestScript::Reply(connection, request, result);
      }
      return Stateless(Done)(connection, request);
    });
    MakeWith(server);
    EXPECT_LE(List().size(), 1u);
    catalog_->Close(runtime_);
  }
}

}  // namespace
}  // namespace agent_graph::tools

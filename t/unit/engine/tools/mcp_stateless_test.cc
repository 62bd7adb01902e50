// The protocol without sessions: content of each request, and how the client detects the era.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "catalog_fixture.h"
#include "request_script.h"
#include "tools/mcp/source.h"

namespace agent_graph::tools {
namespace {

using testing::Connection;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kRevision[] = "2026-07-28";

json Discovered(bool announces = false) {
  return {{"resultType", "complete"},
          {"supportedVersions", {kRevision}},
          {"capabilities", {{"tools", {{"listChanged", announces}}}}},
          {"ttlMs", 0},
          {"cacheScope", "private"}};
}

json Listed(const json& tools, int64_t ttl = 0) {
  return {{"resultType", "complete"}, {"tools", tools}, {"ttlMs", ttl}, {"cacheScope", "private"}};
}

json Echo(const json& schema = {{"type", "object"}}) {
  return {{"name", "echo"}, {"inputSchema", schema}};
}

// A stateless server with the tool "echo"; all other requests go to `other`.
RequestScript::Answer Stateless(RequestScript::Answer other) {
  return [other = std::move(other)](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "server/discover") {
      return RequestScript::Reply(connection, request, Discovered());
    }
    if (request.method == "tools/list") {
      return RequestScript::Reply(connection, request, Listed(json::array({Echo()})));
    }
    return other(connection, request);
  };
}

bool Done(Connection& connection, const ScriptedRequest& request) {
  json result = RequestScript::Text("done");
  result["resultType"] = "complete";
  return RequestScript::Reply(connection, request, result);
}

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

TEST_F(McpStatelessTest, ServersThatKnowNoDiscovery) {
  const json method_not_found = {{"code", -32601}, {"message", "?"}};
  const std::vector<RequestScript::Answer> refusals = {
      [](Connection& c, const ScriptedRequest&) {
        return RequestScript::Send(c, "400 What", "", "");
      },
      [](Connection& c, const ScriptedRequest&) {
        return RequestScript::Send(c, "404 What", "", "<html>");
      },
      [](Connection& c, const ScriptedRequest&) {
        return RequestScript::Send(c, "500 Oops", "", "");
      },
      [&](Connection& c, const ScriptedRequest& r) {
        return RequestScript::Refuse(c, r, "200 OK", method_not_found);
      },
      [&](Connection& c, const ScriptedRequest& r) {
        return RequestScript::Refuse(c, r, "400 Bad", {{"code", -32000}, {"message", "session"}});
      },
      [&](Connection& c, const ScriptedRequest& r) {
        return RequestScript::Refuse(c, r, "400 Bad",
                                     {{"code", -32022}, {"data", {{"supported", {"2025-11-25"}}}}});
      },
      [](Connection& c, const ScriptedRequest& r) {
        return RequestScript::Reply(c, r, {{"supportedVersions", {"2025-06-18"}}});
      },
      [](Connection& c, const ScriptedRequest& r) {
        return RequestScript::Reply(c, r, json::object());
      },
  };
  for (size_t i = 0; i < refusals.size(); ++i) {
    const RequestScript::Answer session = WithSession([](Connection& c, const ScriptedRequest& r) {
      return RequestScript::Reply(c, r, RequestScript::Text("in a session"));
    });
    RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
      if (request.method == "server/discover") return refusals[i](connection, request);
      return session(connection, request);
    });
    MakeWith(server);
    EXPECT_EQ(Call("echo").json, R"("in a session")") << i;
    EXPECT_EQ(server.requests("initialize").at(0).params["protocolVersion"], "2025-11-25");
    catalog_->Close(runtime_);
  }
}

TEST_F(McpStatelessTest, ARefusedRevisionIsChosenFromWhatTheServerSpeaks) {
  std::atomic<int> discoveries = 0;
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "server/discover" && discoveries++ == 0) {
      return RequestScript::Refuse(
          connection, request, "400 Bad",
          {{"code", -32022}, {"data", {{"supported", {"2030-01-01", kRevision}}}}});
    }
    return Stateless(Done)(connection, request);
  });
  MakeWith(server);
  EXPECT_EQ(Call("echo").json, R"("done")");
  EXPECT_EQ(discoveries, 2);
  EXPECT_TRUE(server.requests("initialize").empty());
}

TEST_F(McpStatelessTest, AServerWithOtherRevisionsOnly) {
  RequestScript server([](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Refuse(connection, request, "400 Bad",
                                 {{"code", -32022}, {"data", {{"supported", {"2030-01-01"}}}}});
  });
  MakeWith(server);
  EXPECT_TRUE(List().empty());
  EXPECT_THAT(log(), HasSubstr("the server speaks another version of the protocol"));
  EXPECT_TRUE(server.requests("initialize").empty());
}

TEST_F(McpStatelessTest, ARefusedCredentialSaysNothingAboutTheEra) {
  for (const char* status : {"401 Who", "403 No", "429 Later", "503 Soon"}) {
    RequestScript server([&](Connection& connection, const ScriptedRequest&) {
      return RequestScript::Send(connection, status, "", "");
    });
    MakeWith(server);
    EXPECT_TRUE(List().empty());
    EXPECT_TRUE(server.requests("initialize").empty()) << status;
    catalog_->Close(runtime_);
  }
}

TEST_F(McpStatelessTest, OneEraOnly) {
  RequestScript session(WithSession(Done));
  MakeWith(session, {.protocol = "2026-07-28"});
  EXPECT_TRUE(List().empty());
  EXPECT_THAT(log(), HasSubstr("the server does not speak 2026-07-28"));
  EXPECT_TRUE(session.requests("initialize").empty());
  catalog_->Close(runtime_);

  MakeWith(session, {.protocol = "2025-11-25"});
  EXPECT_THAT(Names(), ElementsAre("echo"));
  EXPECT_EQ(session.requests("server/discover").size(), 1u) << "the first catalog's";
}

TEST_F(McpStatelessTest, AServerThatBecameAnOlderOneIsAskedAnew) {
  std::atomic<bool> older = false;
  const auto session = WithSession([](Connection& c, const ScriptedRequest& r) {
    return RequestScript::Reply(c, r, RequestScript::Text("in a session"));
  });
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (!older) return Stateless(Done)(connection, request);
    if (request.method == "tools/call" && request.Header("Mcp-Session-Id").empty()) {
      return RequestScript::Send(connection, "400 No session", "", "");
    }
    return session(connection, request);
  });
  MakeWith(server);
  EXPECT_EQ(Call("echo").json, R"("done")");
  older = true;
  EXPECT_EQ(Call("echo").json, R"("in a session")");
}

TEST_F(McpStatelessTest, ARefusalOfACallIsNotRepeated) {
  RequestScript server(Stateless([](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Refuse(connection, request, "400 Bad",
                                 {{"code", -32020}, {"message", "headers differ"}});
  }));
  MakeWith(server);
  const ToolOutput output = Call("echo");
  EXPECT_TRUE(output.is_error);
  EXPECT_THAT(output.json, HasSubstr("headers differ"));
  EXPECT_EQ(server.requests("tools/call").size(), 1u);
}

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

TEST_F(McpStatelessTest, DiscoveriesWithNonsense) {
  for (const json& error :
       {json(5), json({{"code", "x"}}), json({{"code", -32022}}),
        json({{"code", -32022}, {"data", 5}}),
        json({{"code", -32022}, {"data", {{"supported", 5}}}}),
        json({{"code", -32022}, {"message", json::object()}, {"data", {{"supported", {5}}}}})}) {
    RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
      return RequestScript::Refuse(connection, request, "400 Bad", error);
    });
    MakeWith(server);
    EXPECT_TRUE(List().empty());
    catalog_->Close(runtime_);
  }
}

}  // namespace
}  // namespace agent_graph::tools

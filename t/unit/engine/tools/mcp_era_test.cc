// How the client finds out whether a server speaks the protocol with or without sessions.
#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "catalog_fixture.h"
#include "request_script.h"
#include "stateless_server.h"
#include "tools/mcp/source.h"

namespace agent_graph::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class McpEraTest : public CatalogTest {};

TEST_F(McpEraTest, ServersThatKnowNoDiscovery) {
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

TEST_F(McpEraTest, ARefusedRevisionIsChosenFromWhatTheServerSpeaks) {
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

TEST_F(McpEraTest, AServerWithOtherRevisionsOnly) {
  RequestScript server([](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Refuse(connection, request, "400 Bad",
                                 {{"code", -32022}, {"data", {{"supported", {"2030-01-01"}}}}});
  });
  MakeWith(server);
  EXPECT_TRUE(List().empty());
  EXPECT_THAT(log(), HasSubstr("the server speaks another version of the protocol"));
  EXPECT_TRUE(server.requests("initialize").empty());
}

TEST_F(McpEraTest, ARefusedCredentialSaysNothingAboutTheEra) {
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

TEST_F(McpEraTest, OneEraOnly) {
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

TEST_F(McpEraTest, AServerThatBecameAnOlderOneIsAskedAnew) {
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

TEST_F(McpEraTest, ARefusalOfACallIsNotRepeated) {
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

// Other calls use the same session.
TEST_F(McpEraTest, ARefusalOfArgumentsKeepsTheSession) {
  for (const int code : {-32601, -32602}) {
    RequestScript server(WithSession([&](Connection& connection, const ScriptedRequest& request) {
      return RequestScript::Refuse(connection, request, "400 Bad",
                                   {{"code", code}, {"message", "no such"}});
    }));
    MakeWith(server);
    for (int i = 0; i < 2; ++i) EXPECT_THAT(Call("echo").json, HasSubstr("no such"));
    EXPECT_EQ(server.requests("tools/call").size(), 2u);
    EXPECT_EQ(server.requests("initialize").size(), 1u);
    catalog_->Close(runtime_);
  }
}

TEST_F(McpEraTest, SessionsThatAreNotUsedEnd) {
  std::atomic<int> sessions{0};
  std::promise<void> both;
  const std::shared_future<void> both_asked = both.get_future().share();
  std::atomic<bool> lost{false};
  const auto session = WithSession([&](Connection& c, const ScriptedRequest& r) {
    if (lost && r.Header("Mcp-Session-Id") == "s1") return RequestScript::Send(c, "404 No", "", "");
    return RequestScript::Reply(c, r, RequestScript::Text("ok"));
  });
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method != "initialize") return session(connection, request);
    const int number = ++sessions;
    if (number == 3) both.set_value();
    if (number > 1) both_asked.wait();  // the two calls open a session each
    return RequestScript::Reply(connection, request,
                                {{"protocolVersion", request.params["protocolVersion"]},
                                 {"capabilities", {{"tools", json::object()}}}},
                                "Mcp-Session-Id: s" + std::to_string(number) + "\r\n");
  });
  MakeWith(server, {.protocol = "2025-11-25", .elicitation = Elicitation::kDecline});
  const ToolList list = List();
  ASSERT_EQ(list.size(), 1u);
  lost = true;
  const auto call = [&] {
    return Run([&] { return list[0]->tool.function(json::object(), context_); });
  };
  auto other = std::async(std::launch::async, call);
  EXPECT_EQ(call().json, R"("ok")");
  EXPECT_EQ(other.get().json, R"("ok")");
  CatalogTest::TearDown();
  catalog_ = nullptr;
  std::vector<std::string> ended;
  for (const ScriptedRequest& request : server.requests("DELETE")) {
    ended.push_back(request.Header("Mcp-Session-Id"));
  }
  EXPECT_THAT(ended, ::testing::UnorderedElementsAre("s2", "s3"));
}

TEST_F(McpEraTest, ASessionThatDoesNotBeginEnds) {
  const auto session = WithSession(nullptr);
  RequestScript server([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method != "notifications/initialized") return session(connection, request);
    return RequestScript::Send(connection, "500 Oops", "", "");
  });
  MakeWith(server, {.protocol = "2025-11-25"});
  EXPECT_TRUE(List().empty());
  CatalogTest::TearDown();
  catalog_ = nullptr;
  const auto ended = server.requests("DELETE");
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].Header("Mcp-Session-Id"), "s1");
}

TEST_F(McpEraTest, DiscoveriesWithNonsense) {
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

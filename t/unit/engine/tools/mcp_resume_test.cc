// Streams that break before the reply is complete, and how the client requests the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "catalog_fixture.h"
#include "request_script.h"
#include "tools/mcp/http/event_stream.h"
#include "tools/mcp/protocol/json_rpc.h"

namespace agent_graph::tools {
namespace {

using testing::Connection;
using ::testing::HasSubstr;

class McpResumeTest : public CatalogTest {
 protected:
  // Calls "echo" on a server with a session that uses `answer`.
  ToolOutput CallWith(RequestScript::Answer answer, Deadline deadline = kNoDeadline) {
    server_ = std::make_unique<RequestScript>(WithSession(std::move(answer)));
    MakeWith(*server_, {.elicitation = Elicitation::kDecline});  // it listens to no stream
    const ToolList list = List();
    if (list.empty()) return ToolOutput::Error("not listed");
    TestContext context({}, deadline);
    return Run([&] { return list[0]->tool.function(json::object(), context); });
  }
  void TearDown() override {
    CatalogTest::TearDown();
    server_ = nullptr;
  }

  std::unique_ptr<RequestScript> server_;
};

TEST_F(McpResumeTest, BehindTheLastEvent) {
  const ToolOutput output = CallWith([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/call") {
      return RequestScript::Stream(connection, "id: first\nretry: 150\ndata: \n\n");
    }
    return RequestScript::Stream(
        connection, RequestScript::ReplyEvent(request.call_id, RequestScript::Text("resumed")));
  });
  EXPECT_EQ(output.json, R"("resumed")");
  ASSERT_EQ(server_->requests("tools/call").size(), 1u) << "it is called once";
  const auto gets = server_->requests("GET");
  ASSERT_EQ(gets.size(), 1u);
  EXPECT_EQ(gets[0].Header("Last-Event-ID"), "first");
  EXPECT_EQ(gets[0].Header("Mcp-Session-Id"), "s1");
  EXPECT_EQ(gets[0].Header("MCP-Protocol-Version"), "2025-11-25");
}

// The limit is for each message, not for the stream.
TEST_F(McpResumeTest, MoreProgressThanAReplyMayHave) {
  const json note = {{"jsonrpc", "2.0"},
                     {"method", "notifications/message"},
                     {"params", {{"data", std::string(500'000, 'x')}}}};
  const std::string progress = "data: " + note.dump() + "\n\n";
  const ToolOutput output = CallWith([&](Connection& connection, const ScriptedRequest& request) {
    std::string events;
    for (size_t i = 0; i < mcp::kReplyBytesMax / progress.size() + 2; ++i) events += progress;
    return RequestScript::Stream(
        connection, events + RequestScript::ReplyEvent(request.id, RequestScript::Text("done")));
  });
  EXPECT_EQ(output.json, R"("done")");
}

TEST_F(McpResumeTest, AMessageThatIsTooLarge) {
  const std::string text(mcp::kReplyBytesMax, 'x');
  const ToolOutput event = CallWith([&](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Stream(connection,
                                 RequestScript::ReplyEvent(request.id, RequestScript::Text(text)));
  });
  EXPECT_TRUE(event.is_error);
  EXPECT_THAT(event.json, HasSubstr("an event is larger than 4194304 bytes"));
  CatalogTest::TearDown();
  catalog_ = nullptr;
  EXPECT_EQ(server_->requests("notifications/cancelled").size(), 1u);
}

TEST_F(McpResumeTest, AReplyThatIsTooLarge) {
  const std::string text(mcp::kReplyBytesMax, 'x');
  const ToolOutput whole = CallWith([&](Connection& connection, const ScriptedRequest& request) {
    return RequestScript::Reply(connection, request, RequestScript::Text(text));
  });
  EXPECT_TRUE(whole.is_error);
  EXPECT_THAT(whole.json, HasSubstr("the server's reply is larger than 4194304 bytes"));
}

TEST_F(McpResumeTest, WaitsForAsLongAsTheServerSays) {
  std::atomic<Deadline> ended;
  std::atomic<Deadline> asked;
  CallWith([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/call") {
      ended = MonotonicClock::now();
      return RequestScript::Stream(connection, "id: first\nretry: 300\ndata: \n\n");
    }
    asked = MonotonicClock::now();
    return RequestScript::Stream(
        connection, RequestScript::ReplyEvent(request.call_id, RequestScript::Text("resumed")));
  });
  EXPECT_GE(asked.load() - ended.load(), std::chrono::milliseconds(300));
}

TEST_F(McpResumeTest, AsOftenAsTheServerEndsItWithSomethingNew) {
  std::atomic<int> polls = 0;
  const ToolOutput output = CallWith([&](Connection& connection, const ScriptedRequest& request) {
    const int number = polls++;
    if (number < 8) {
      return RequestScript::Stream(connection,
                                   "id: e" + std::to_string(number) + "\nretry: 1\ndata: \n\n");
    }
    EXPECT_EQ(request.Header("Last-Event-ID"), "e7");
    return RequestScript::Stream(
        connection, RequestScript::ReplyEvent(request.call_id, RequestScript::Text("at last")));
  });
  EXPECT_EQ(output.json, R"("at last")");
}

TEST_F(McpResumeTest, AConnectionThatBreaksInAnEvent) {
  const ToolOutput output = CallWith([&](Connection& connection, const ScriptedRequest& request) {
    const std::string event =
        RequestScript::ReplyEvent(request.call_id, RequestScript::Text("x"), "id: b\n");
    if (request.method == "tools/call") {
      // Announces more bytes than it sends.
      connection.Send(
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
          "Content-Length: 1000\r\n\r\nid: a\nretry: 1\ndata: \n\n" +
          event.substr(0, event.size() / 2));
      return false;
    }
    EXPECT_EQ(request.Header("Last-Event-ID"), "a") << "the second event was not complete";
    return RequestScript::Stream(
        connection, RequestScript::ReplyEvent(request.call_id, RequestScript::Text("whole")));
  });
  EXPECT_EQ(output.json, R"("whole")");
}

TEST_F(McpResumeTest, AServerThatIsAwayForAMoment) {
  std::atomic<int> gets = 0;
  const ToolOutput output = CallWith([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/call") {
      return RequestScript::Stream(connection, "id: a\nretry: 1\ndata: \n\n");
    }
    const int number = gets++;
    if (number == 0) return false;
    if (number == 1) return RequestScript::Send(connection, "503 Soon", "", "");
    return RequestScript::Stream(
        connection, RequestScript::ReplyEvent(request.call_id, RequestScript::Text("back")));
  });
  EXPECT_EQ(output.json, R"("back")");
}

TEST_F(McpResumeTest, AServerThatHasNotNoticedTheEndOfTheOldConnection) {
  std::atomic<int> gets = 0;
  const ToolOutput output = CallWith([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/call") {
      return RequestScript::Stream(connection, "id: a\nretry: 1\ndata: \n\n");
    }
    if (gets++ < 2) return RequestScript::Send(connection, "409 Conflict", "", "");
    return RequestScript::Stream(
        connection, RequestScript::ReplyEvent(request.call_id, RequestScript::Text("free")));
  });
  EXPECT_EQ(output.json, R"("free")");
}

TEST_F(McpResumeTest, RequestsOfTheServerAreAnsweredOnTheNewStreamToo) {
  const ToolOutput output = CallWith([&](Connection& connection, const ScriptedRequest& request) {
    if (request.method == "tools/call") {
      return RequestScript::Stream(connection, "id: a\nretry: 1\ndata: \n\n");
    }
    if (request.verb == "POST") return RequestScript::Send(connection, "202 Ok", "", "");
    return RequestScript::Stream(
        connection, "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n" +
                        RequestScript::ReplyEvent(request.call_id, RequestScript::Text("ok")));
  });
  EXPECT_EQ(output.json, R"("ok")");
  const auto answers = server_->requests("answer");
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].body["id"], "p");
}

TEST_F(McpResumeTest, WithoutAnIdThereIsNothingToResume) {
  const ToolOutput output = CallWith([](Connection& connection, const ScriptedRequest&) {
    return RequestScript::Stream(connection, "retry: 1\ndata: \n\n");
  });
  EXPECT_TRUE(output.is_error);
  EXPECT_THAT(output.json, HasSubstr("stream ended without a reply"));
  EXPECT_TRUE(server_->requests("GET").empty());
}

TEST_F(McpResumeTest, AServerThatForgotTheStream) {
  for (const char* status : {"404 Gone", "405 No", "400 What"}) {
    const ToolOutput output = CallWith([&](Connection& connection, const ScriptedRequest& request) {
      if (request.verb == "GET") return RequestScript::Send(connection, status, "", "");
      return RequestScript::Stream(connection, "id: a\nretry: 1\ndata: \n\n");
    });
    EXPECT_TRUE(output.is_error);
    EXPECT_THAT(output.json, HasSubstr("cannot be resumed"));
    EXPECT_EQ(server_->requests("GET").size(), 1u);
    EXPECT_EQ(server_->requests("tools/call").size(), 1u) << "never called again";
    catalog_->Close(runtime_);
  }
}

TEST_F(McpResumeTest, AStreamThatBringsNothingIsGivenUp) {
  const ToolOutput output = CallWith([](Connection& connection, const ScriptedRequest&) {
    return RequestScript::Stream(connection, "id: a\nretry: 1\ndata: \n\n");
  });
  EXPECT_TRUE(output.is_error);
  EXPECT_THAT(output.json, HasSubstr("stream ended without a reply"));
  EXPECT_EQ(server_->requests("GET").size(), 6u);
}

TEST_F(McpResumeTest, NotBeyondTheTimeOfTheCall) {
  const ToolOutput output = CallWith(
      [](Connection& connection, const ScriptedRequest&) {
        return RequestScript::Stream(connection, "id: a\nretry: 3600000\ndata: \n\n");
      },
      DeadlineAfter(std::chrono::seconds(60)));
  EXPECT_TRUE(output.is_error);
  EXPECT_THAT(output.json, HasSubstr("only after the call's deadline"));
  EXPECT_TRUE(server_->requests("GET").empty());
}

TEST_F(McpResumeTest, ALineInAnIdCannotBecomeAHeader) {
  const ToolOutput output = CallWith([](Connection& connection, const ScriptedRequest&) {
    return RequestScript::Stream(connection, "id: a\x01X-Evil: 1\nretry: 1\ndata: \n\n");
  });
  EXPECT_TRUE(output.is_error);
  EXPECT_TRUE(server_->requests("GET").empty());
}

TEST(McpResumePolicyTest, IsBounded) {
  mcp::ResumePolicy policy;
  mcp::StreamPlace place;
  EXPECT_FALSE(policy.Next(place)) << "no id";
  place.retry = std::chrono::milliseconds(0);
  int connections = 0;
  do {
    place.last_event_id = std::to_string(connections);
    const auto wait = policy.Next(place);
    if (!wait) break;
    EXPECT_GE(*wait, std::chrono::milliseconds(100));
  } while (++connections < 100'000);
  EXPECT_EQ(connections, 1000);
}

TEST(McpResumePolicyTest, WaitsLongerWhereNothingComes) {
  mcp::ResumePolicy policy;
  mcp::StreamPlace place;
  place.last_event_id = "a";
  place.retry = std::chrono::milliseconds(1000);
  std::vector<int64_t> waits;
  while (const auto wait = policy.Next(place)) waits.push_back(wait->count());
  EXPECT_THAT(waits, ::testing::ElementsAre(1000, 1000, 2000, 4000, 8000, 16000));
}

}  // namespace
}  // namespace agent_graph::tools

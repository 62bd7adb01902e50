#include "models/model_call.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "models/chat_reply.h"
#include "openai_fixture.h"

namespace agent_graph::models {
namespace {

class ModelCallTest : public testing::OnFiber {
 protected:
  // The result of a call whose first piece of text is `first` and whose stream ends then.
  Status CallFor(const std::string& first) {
    ScriptedServer server([&](Connection& connection) {
      if (!connection.ReadRequest()) return;
      SendStream(connection, {first, kStopEvent, kEndEvent});
    });
    return CallOf(server);
  }

  std::string MessageOf(const ScriptedServer& server) { return CallOf(server).message(); }

  Status CallOf(const ScriptedServer& server) {
    wire_ = {.url = server.url(), .body = std::string(100'000, 'x')};
    return Run([&] {
      ChatReplyBuilder builder;
      const std::function<Status(const ModelDelta&)> on_delta = [this](const ModelDelta&) {
        held_with_first_piece_ = wire_.body.capacity();
        return Status::Ok();
      };
      const net::HttpClient client{Environment()};
      ModelCall call(client, cancellation_, on_delta, provider_, wire_, builder);
      net::HttpRequest request;
      request.url = wire_.url;
      request.body = wire_.body;
      AG_RETURN_IF_ERROR(call.Start(std::move(request)));
      return call.Read().status();
    });
  }

  const Cancellation cancellation_;
  ProviderOptions provider_;
  WireRequest wire_;
  size_t held_with_first_piece_ = 0;
};

TEST_F(ModelCallTest, FreesTheBodyWithTheFirstPiece) {
  EXPECT_TRUE(CallFor(TextEvent("x")).ok());
  EXPECT_LT(held_with_first_piece_, 100u);
}

TEST_F(ModelCallTest, KeepsTheBodyAsLongAsTheCallMayBeRepeated) {
  EXPECT_FALSE(CallFor(Event(R"({"error":{"message":"busy"}})")).ok());
  EXPECT_EQ(wire_.body.size(), 100'000u);
}

// It is complete JSON, although the blank line after it is missing.
TEST_F(ModelCallTest, AnErrorInTheLastLineIsReported) {
  const auto failure = [&](const std::string& line) {
    ScriptedServer server([&](Connection& connection) {
      if (connection.ReadRequest()) SendStream(connection, {"data: " + line});
    });
    return MessageOf(server);
  };
  EXPECT_EQ(failure(R"({"error":{"message":"context too long"}})"),
            "the model provider reported an error: context too long");
  EXPECT_EQ(failure(R"({"error":{"message":"conte)"), "the model provider's reply is empty");
}

// The length of a provider's text may be chosen by the user whose words it repeats.
TEST_F(ModelCallTest, AReportedErrorDoesNotEndWithAPartOfTheKey) {
  provider_.api_key = "top-secret-key";
  for (const size_t before : {280, 290, 295, 299, 350, 380}) {
    const std::string text = std::string(before, 'x') + provider_.api_key + std::string(500, 'y');
    const Status status = CallFor(Event(R"({"error":{"message":")" + text + "\"}}"));
    EXPECT_EQ(status.message().find("xt"), std::string::npos) << status.message();
    EXPECT_LE(status.message().size(), 400u);
  }
}

}  // namespace
}  // namespace agent_graph::models

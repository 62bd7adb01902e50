// Messages of JSON-RPC: those that the server accepts, and those that it writes.
#include "facades/mcp/json_rpc.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::mcp {
namespace {

std::optional<RpcError> Read(const json& body, RpcMessage& message) {
  return ReadMessage(body, message);
}

TEST(JsonRpc, RequestsNotificationsAndResponsesAreToldApart) {
  RpcMessage message;
  const json request = {
      {"jsonrpc", "2.0"}, {"id", "a"}, {"method", "ping"}, {"params", {{"x", 1}}}};
  ASSERT_FALSE(Read(request, message));
  EXPECT_EQ(message.kind, RpcMessage::Kind::kRequest);
  EXPECT_EQ(message.id_json, "\"a\"");
  EXPECT_EQ(message.method, "ping");
  EXPECT_EQ((*message.params)["x"], 1);

  message = {};
  const json notification = {{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}};
  ASSERT_FALSE(Read(notification, message));
  EXPECT_EQ(message.kind, RpcMessage::Kind::kNotification);
  EXPECT_EQ(message.params, nullptr);

  message = {};
  const json without = {{"jsonrpc", "2.0"}, {"id", 1}, {"method", "ping"}, {"params", nullptr}};
  ASSERT_FALSE(Read(without, message));
  EXPECT_EQ(message.params, nullptr);

  message = {};
  const json response = {{"jsonrpc", "2.0"}, {"id", 7}, {"result", json::object()}};
  ASSERT_FALSE(Read(response, message));
  EXPECT_EQ(message.kind, RpcMessage::Kind::kResponse);
  EXPECT_EQ(message.id_json, "7");
  EXPECT_NE(message.result, nullptr);

  message = {};
  const json failed = {{"jsonrpc", "2.0"}, {"id", 7}, {"error", {{"code", 1}, {"message", "no"}}}};
  ASSERT_FALSE(Read(failed, message));
  EXPECT_EQ(message.kind, RpcMessage::Kind::kResponse);
  EXPECT_EQ(message.result, nullptr);
}

TEST(JsonRpc, EverythingElseIsRefused) {
  const json bodies[] = {
      json::object(),
      {{"jsonrpc", 2.0}, {"id", 1}, {"method", "ping"}},
      {{"jsonrpc", "2.0"}, {"id", nullptr}, {"method", "ping"}},
      {{"jsonrpc", "2.0"}, {"id", 1.5}, {"method", "ping"}},
      {{"jsonrpc", "2.0"}, {"id", std::string(kIdBytesMax, 'x')}, {"method", "ping"}},
      {{"jsonrpc", "2.0"}, {"id", 1}, {"method", nullptr}},
      {{"jsonrpc", "2.0"}, {"id", 1}, {"method", "ping"}, {"params", json::array()}},
      {{"jsonrpc", "2.0"}, {"id", 1}},
      {{"jsonrpc", "2.0"}, {"result", json::object()}},
      {{"jsonrpc", "2.0"}, {"id", 1}, {"result", json::object()}, {"error", json::object()}},
      {{"jsonrpc", "2.0"}, {"id", 1}, {"result", 5}},
  };
  for (const json& body : bodies) {
    RpcMessage message;
    const auto error = Read(body, message);
    ASSERT_TRUE(error) << body.dump();
    EXPECT_EQ(error->code, kInvalidRequest) << body.dump();
    EXPECT_EQ(error->status, 400);
  }
}

TEST(JsonRpc, MessagesAreValidJson) {
  const RpcError error{kInvalidParams, "a \"quoted\" text", 200, R"({"uri":"x"})"};
  const json failed = json::parse(ErrorMessage("null", error));
  EXPECT_EQ(failed["id"], nullptr);
  EXPECT_EQ(failed["error"]["code"], kInvalidParams);
  EXPECT_EQ(failed["error"]["message"], "a \"quoted\" text");
  EXPECT_EQ(failed["error"]["data"]["uri"], "x");
  EXPECT_EQ(json::parse(ResultMessage("\"a\"", "{}"))["id"], "a");
  EXPECT_EQ(json::parse(NotificationMessage("m", R"({"a":1})"))["params"]["a"], 1);
  EXPECT_EQ(json::parse(RequestMessage("1", "m", "{}"))["method"], "m");
}

}  // namespace
}  // namespace agent_graph::mcp

#include "tools/http/http_tool.h"

#include <gtest/gtest.h>

#include "../../net/on_fiber.h"
#include "../../net/scripted_server.h"
#include "../call/call_context.h"
#include "agent_graph/json.h"

namespace agent_graph::tools {
namespace {

using testing::ScriptedServer;

constexpr char kSchema[] =
    R"({"type":"object","properties":{"id":{"type":"string"},"limit":{"type":"integer"},
        "note":{"type":"string"}}})";

std::string Reply(const std::string& status, const std::string& type, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class HttpToolTest : public testing::OnFiber {
 protected:
  // Calls a tool on a server that answers `reply`; `request_` is the request that the server
  // received.
  ToolOutput Call(HttpTool tool, const json& arguments, const std::string& reply,
                  const std::string& path = "/orders/{id}") {
    std::promise<std::string> got;
    auto request = got.get_future();
    ScriptedServer server([&](testing::Connection& connection) {
      got.set_value(connection.ReadRequest().value_or(""));
      connection.Send(reply);
    });
    if (tool.url.empty()) tool.url = server.url(path);
    tool.name = "orders";
    tool.parameters_json = kSchema;
    Result<Tool> made = MakeHttpTool(tool, environment_, client_);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    if (!made.ok()) return {};
    ToolOutput output = Run([&] { return made->function(arguments, context_); });
    if (server.connections() > 0) request_ = request.get();
    return output;
  }

  Environment environment_ = {{"TOKEN", "a-secret-token"}};
  std::shared_ptr<const net::HttpClient> client_ =
      std::make_shared<const net::HttpClient>(Environment());
  TestContext context_;
  std::string request_;
};

TEST_F(HttpToolTest, GetPutsWhatIsLeftIntoTheQuery) {
  HttpTool tool{.headers = {{"Authorization", "Bearer ${TOKEN}"}}};
  const ToolOutput output = Call(tool, {{"id", "a/b"}, {"limit", 3}, {"made_up", "x"}},
                                 Reply("200 OK", "application/json", R"({"state": "sent"})"));
  EXPECT_EQ(output.json, R"({"state":"sent"})");
  EXPECT_FALSE(output.is_error);
  EXPECT_TRUE(request_.starts_with("GET /orders/a%2Fb?limit=3 HTTP/1.1\r\n")) << request_;
  EXPECT_NE(request_.find("Authorization: Bearer a-secret-token\r\n"), std::string::npos);
  EXPECT_EQ(request_.find("Idempotency-Key"), std::string::npos);
}

TEST_F(HttpToolTest, OtherMethodsSendABodyAndAKey) {
  const ToolOutput output = Call({.method = "POST"}, {{"id", "7"}, {"note", "hi"}, {"made_up", 1}},
                                 Reply("201 Created", "text/plain", "done"));
  EXPECT_EQ(output.json, R"("done")");
  EXPECT_TRUE(request_.starts_with("POST /orders/7 HTTP/1.1\r\n")) << request_;
  EXPECT_NE(request_.find("Idempotency-Key: key-1\r\n"), std::string::npos);
  EXPECT_NE(request_.find("Content-Type: application/json\r\n"), std::string::npos);
  EXPECT_TRUE(request_.ends_with("\r\n\r\n{\"note\":\"hi\"}")) << request_;
}

TEST_F(HttpToolTest, IdempotentAsDeclaredOrGet) {
  HttpTool tool{.url = "http://h/"};
  EXPECT_TRUE(MakeHttpTool(tool, {}, client_)->idempotent);
  tool.method = "POST";
  EXPECT_FALSE(MakeHttpTool(tool, {}, client_)->idempotent);
  tool.idempotent = true;
  EXPECT_TRUE(MakeHttpTool(tool, {}, client_)->idempotent);
}

TEST_F(HttpToolTest, PartOfTheReply) {
  HttpTool tool{.result_pointer = "/data/items/1"};
  const std::string body = R"({"data":{"items":[1,{"x":2}]}})";
  EXPECT_EQ(Call(tool, {{"id", "1"}}, Reply("200 OK", "application/json", body)).json,
            R"({"x":2})");
  const ToolOutput other = Call(tool, {{"id", "1"}}, Reply("200 OK", "application/json", "{}"));
  EXPECT_TRUE(other.is_error);
  EXPECT_EQ(other.json, R"("the service's answer has no /data/items/1")");
  EXPECT_TRUE(Call(tool, {{"id", "1"}}, Reply("200 OK", "text/plain", "hm")).is_error);
}

TEST_F(HttpToolTest, Refusals) {
  const HttpTool tool{.headers = {{"X-Key", "${TOKEN}"}}};
  const ToolOutput output =
      Call(tool, {{"id", "1"}}, Reply("404 Not Found", "text/plain", "no order, a-secret-token"));
  EXPECT_TRUE(output.is_error);
  EXPECT_EQ(output.json, R"("the service answered HTTP 404: no order, ***")");
  EXPECT_EQ(Call({}, {{"id", "1"}}, Reply("302 Found\r\nLocation: /x", "text/html", "")).json,
            R"("the service answered HTTP 302")");
  EXPECT_EQ(Call({}, {{"id", "1"}}, Reply("200 OK", "image/png", "x")).json,
            R"("the service answered with image/png, which is not text")");
  EXPECT_EQ(Call({}, {{"id", "1"}}, Reply("200 OK", "application/json", "{")).json,
            R"("the service's answer is not valid JSON")");
}

TEST_F(HttpToolTest, SecretsAreReplacedInAllFormsOfAnswers) {
  environment_["TOKEN"] = "a/secret-token";
  const HttpTool tool{.headers = {{"X-Key", "${TOKEN}"}}};
  EXPECT_EQ(
      Call(tool, {{"id", "1"}},
           Reply("200 OK", "application/json", R"({"a\/secret-token":["x a\u002fsecret-token"]})"))
          .json,
      R"({"***":["x ***"]})");
  EXPECT_EQ(Call(tool, {{"id", "1"}}, Reply("200 OK", "text/plain", "a/secret-token")).json,
            R"("***")");
}

TEST_F(HttpToolTest, ARefusalDoesNotEndWithAPartOfASecret) {
  const HttpTool tool{.headers = {{"X-Key", "${TOKEN}"}}};
  for (const size_t shown : {1u, 8u, 13u}) {
    const std::string page = std::string(2000 - shown, 'x') + "a-secret-token and more";
    const ToolOutput output = Call(tool, {{"id", "1"}}, Reply("500 Oops", "text/plain", page));
    EXPECT_TRUE(output.json.find("xa-") == std::string::npos) << output.json;
  }
}

TEST_F(HttpToolTest, Bounds) {
  HttpTool tool{.reply_bytes_max = 10};
  EXPECT_EQ(Call(tool, {{"id", "1"}}, Reply("200 OK", "text/plain", "0123456789A")).json,
            R"("the service's answer is larger than 10 bytes")");
  EXPECT_EQ(Call(tool, {{"id", "1"}}, Reply("200 OK", "text/plain", "0123456789")).json,
            R"("0123456789")");
}

TEST_F(HttpToolTest, BadArgumentsAreNotSent) {
  EXPECT_TRUE(Call({}, {{"id", ".."}}, "").is_error);
  EXPECT_TRUE(Call({}, json::object(), "").is_error);
  EXPECT_EQ(request_, "");
}

TEST_F(HttpToolTest, NobodyListens) {
  HttpTool tool{.url = "http://127.0.0.1:" + std::to_string(testing::ClosedPort()) + "/"};
  const ToolOutput output = Call(tool, {{"id", "1"}}, "");
  EXPECT_TRUE(output.is_error);
  EXPECT_EQ(output.json, R"("the service failed: the server could not be connected")");
}

TEST_F(HttpToolTest, DeadlineAndCancellation) {
  ScriptedServer server([](testing::Connection& connection) { connection.WaitUntilPeerCloses(); });
  const HttpTool tool{.name = "slow", .url = server.url("/")};
  const Result<Tool> made = MakeHttpTool(tool, {}, client_);
  TestContext late({}, MonotonicClock::now());
  EXPECT_EQ(Run([&] { return made->function(json::object(), late); }).json,
            R"("the service did not answer within 30000 ms")");
  runtime::Cancellation cancellation;
  cancellation.Cancel(runtime::CancelReason::kClientGone);
  TestContext gone(cancellation);
  EXPECT_EQ(Run([&] { return made->function(json::object(), gone); }).json,
            R"("the call was cancelled")");
}

TEST(CheckHttpToolTest, Mistakes) {
  const auto problem = [](HttpTool tool) {
    if (tool.url.empty()) tool.url = "http://h/";
    return CheckHttpTool(tool).message();
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({.method = "get"}), "method: must be one of GET, POST, PUT, PATCH, DELETE");
  EXPECT_EQ(problem({.url = "http://h/{id}"}),
            "url: the argument {id} is not among the parameters' properties");
  EXPECT_EQ(problem({.parameters_json = "[]"}), "parameters: must be a JSON object");
  EXPECT_EQ(problem({.result_pointer = "data"}),
            "result_pointer: must be a JSON pointer, such as /data/items");
  EXPECT_EQ(problem({.timeout = std::chrono::milliseconds(0)}), "timeout: must be positive");
}

TEST(ExpandHeadersTest, Mistakes) {
  std::vector<std::string> secrets;
  const Environment environment = {{"BAD", "a\r\nb"}};
  EXPECT_EQ(ExpandHeaders({{"a b", ""}}, environment, secrets).status().message(),
            "headers: \"a b\" is not a valid header name");
  EXPECT_EQ(ExpandHeaders({{"X", "${BAD}"}}, environment, secrets).status().message(),
            "headers.X: holds control characters");
  EXPECT_EQ(ExpandHeaders({{"X", "${NO}"}}, environment, secrets).status().message(),
            "headers.X: environment variable NO is not set");
}

}  // namespace
}  // namespace agent_graph::tools

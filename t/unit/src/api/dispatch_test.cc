#include "api/http/dispatch.h"

#include <unistd.h>

#include <cstdlib>

#include "dispatch_fixture.h"

namespace agent_graph::api {
namespace {

TEST_F(DispatchTest, AnswersBadBodiesWith422) {
  for (const char* body : {"{", "", "[]", "null", "\"text\"", "{} x", "{\"a\":\"\xff\"}"}) {
    ExpectInvalid(Send("POST", "/v1/graph/invoke", body), {"body"});
    ExpectInvalid(Send("POST", "/v1/graph/stream", body), {"body"});
  }
  ExpectInvalid(Send("POST", "/v1/graph/invoke", "{}"), {"body", "messages"});
}

TEST_F(DispatchTest, ReadsBodiesOfEverySizeAndPlace) {
  std::string text(200'000, 'x');
  std::string body = R"({"messages":[{"role":"user","content":")" + text + "\"}]}";
  EXPECT_EQ(Send("POST", "/v1/graph/invoke", body).status, 200);

  char name[] = "/tmp/agent_graph_body_XXXXXX";
  int file = mkstemp(name);
  ASSERT_GE(file, 0);
  unlink(name);
  ASSERT_EQ(write(file, body.data(), body.size()), static_cast<ssize_t>(body.size()));
  Answer answer =
      Send("POST", "/v1/graph/invoke", bridge::Body{"", FileDescriptor(file), body.size()});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Data()["messages"].size(), 2u);
}

TEST_F(DispatchTest, RefusesBodiesThatAreTooDeep) {
  ExpectInvalid(Send("POST", "/v1/graph/invoke", std::string(1000, '[')), {"body"});
}

TEST_F(DispatchTest, ReportsABodyThatCannotBeReceived) {
  auto exchange = std::make_shared<bridge::Exchange>(bridge::ExchangeAddress{1, 1},
                                                     Head("POST", "/v1/graph/invoke"), outbox_,
                                                     bridge::CreditLimits{});
  exchange->body().Fail(Status(StatusCode::kInvalidArgument, "cut"));
  Dispatch(exchange, api_);
  EXPECT_EQ(Take().status, 422);
}

TEST_F(DispatchTest, AThrowingHandlerIsAnsweredWith500) {
  EXPECT_CALL(state_, GetThread(_, _)).WillOnce([](auto&&...) -> Result<state::ThreadRecord> {
    throw std::runtime_error("secret inside");
  });
  Answer answer = Send("GET", "/v1/threads/a");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.outcome, "error");
  EXPECT_EQ(answer.body.find("secret"), std::string::npos);
}

Reply RenderAsText(const ErrorInfo& error, std::string_view request_id) {
  Reply reply;
  reply.status = StatusOf(error);
  reply.body = std::string(request_id) + ' ' + std::string(CodeOf(error));
  for (const ErrorDetail& detail : error.details) {
    reply.body += ' ' + detail.location.back() + '=' + std::string(NameOf(detail.type));
  }
  return reply;
}

TEST_F(DispatchTest, RendersErrorsAsTheRouteDemands) {
  std::vector<Route> routes(Routes().begin(), Routes().end());
  for (Route& route : routes) route.render_error = RenderAsText;
  api_.routes = routes;
  const Answer invalid = Send("POST", "/v1/graph/invoke", R"({"messages":1,"recursion_limit":0})");
  EXPECT_EQ(invalid.status, 422);
  EXPECT_EQ(invalid.body, "r-1 VALIDATION_ERROR messages=list_type recursion_limit=out_of_range");
  EXPECT_CALL(state_, GetThread(_, _)).WillOnce([](auto&&...) -> Result<state::ThreadRecord> {
    throw std::runtime_error("secret inside");
  });
  EXPECT_EQ(Send("GET", "/v1/threads/a").body, "r-1 INTERNAL_SERVER_ERROR");
}

}  // namespace
}  // namespace agent_graph::api

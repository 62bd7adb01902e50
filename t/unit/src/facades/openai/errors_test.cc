#include "facades/openai/errors.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::openai {
namespace {

using api::ApiError;
using api::ErrorInfo;

std::string HeaderOf(const api::Reply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return value;
  }
  return "";
}

json ErrorIn(const api::Reply& reply) {
  return json::parse(reply.body).at("error");
}

TEST(OpenAiErrors, NameTheFieldWithTheProblem) {
  ErrorInfo error{ApiError::kValidation, "", {}};
  error.details.push_back({{"body", "messages", "0", "content", "1", "type"},
                           "is required",
                           api::ProblemType::kMissing});
  const api::Reply reply = RenderError(error, "r");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(ErrorIn(reply), json({{"message", "messages[0].content[1].type: is required"},
                                  {"type", "invalid_request_error"},
                                  {"param", "messages[0].content[1].type"},
                                  {"code", "validation_error"}}));
}

TEST(OpenAiErrors, HaveTheStatusThatClientsExpect) {
  struct {
    ApiError error;
    int status;
    const char* type;
  } cases[] = {
      {ApiError::kNoCredential, 401, "authentication_error"},
      {ApiError::kInvalidToken, 401, "authentication_error"},
      {ApiError::kPermissionDenied, 403, "permission_error"},
      {ApiError::kNotFound, 404, "invalid_request_error"},
      {ApiError::kMethodNotAllowed, 405, "invalid_request_error"},
      {ApiError::kBusy, 409, "invalid_request_error"},
      {ApiError::kRequestTooLarge, 413, "invalid_request_error"},
      {ApiError::kRateLimited, 429, "rate_limit_error"},
      {ApiError::kModel, 500, "server_error"},
      {ApiError::kOverloaded, 503, "server_error"},
  };
  for (const auto& [error, status, type] : cases) {
    const api::Reply reply = RenderError({error, "", {}}, "r");
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(ErrorIn(reply).at("type"), type) << status;
    EXPECT_TRUE(ErrorIn(reply).at("message").is_string());
    EXPECT_TRUE(ErrorIn(reply).at("param").is_null());
  }
}

// Clients repeat every 409 and 5xx otherwise.
TEST(OpenAiErrors, SayWhichRequestsNotToRepeat) {
  EXPECT_EQ(HeaderOf(RenderError({ApiError::kGraph, "", {}}, "r"), "x-should-retry"), "false");
  EXPECT_EQ(HeaderOf(RenderError({ApiError::kConflict, "", {}}, "r"), "x-should-retry"), "false");
  EXPECT_EQ(HeaderOf(RenderError({ApiError::kBusy, "", {}}, "r"), "x-should-retry"), "");
  const api::Reply overloaded = RenderError({ApiError::kOverloaded, "", {}}, "r");
  EXPECT_EQ(HeaderOf(overloaded, "x-should-retry"), "");
  EXPECT_EQ(HeaderOf(overloaded, "Retry-After"), "1");
}

TEST(OpenAiErrors, RefuseParameters) {
  const api::Reply reply = RenderError(Unsupported("n", "an agent gives one answer"), "r");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(ErrorIn(reply).at("param"), "n");
  EXPECT_EQ(ErrorIn(reply).at("code"), "unsupported_parameter");
}

}  // namespace
}  // namespace agent_graph::openai

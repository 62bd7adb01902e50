#include "facades/agui/errors.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent_graph/json.h"
#include "api/http/validation.h"

namespace agent_graph::agui {
namespace {

TEST(AgUiErrors, AreTheEventOfAFailedRun) {
  api::Problems problems;
  problems.Add({"body", "messages", "0", "role"}, "is required", api::ProblemType::kMissing);
  const api::Reply reply = RenderError(std::move(problems).Error(), "id");
  EXPECT_EQ(reply.status, 422);
  const json body = json::parse(reply.body);
  EXPECT_EQ(body.at("type"), "RUN_ERROR");
  EXPECT_EQ(body.at("code"), "VALIDATION_ERROR");
  EXPECT_NE(body.at("message").get<std::string>().find("messages"), std::string::npos);
  EXPECT_EQ(body.at("details")[0].at("loc"), json({"body", "messages", "0", "role"}));
}

TEST(AgUiErrors, CredentialsAreRefusedWith401) {
  EXPECT_EQ(RenderError({api::ApiError::kNoCredential, "", {}}, "id").status, 401);
  EXPECT_EQ(RenderError({api::ApiError::kPermissionDenied, "", {}}, "id").status, 403);
  api::ErrorInfo custom{api::ApiError::kNoCredential, "", {}};
  custom.status = 418;
  EXPECT_EQ(RenderError(custom, "id").status, 418);
}

TEST(AgUiErrors, SayWhenToTryAgain) {
  const api::Reply reply = RenderError({api::ApiError::kRateLimited, "", {}}, "id");
  EXPECT_EQ(reply.status, 429);
  EXPECT_FALSE(json::parse(reply.body).contains("details"));
  const auto is_retry = [](const auto& header) { return header.first == "Retry-After"; };
  EXPECT_EQ(std::ranges::count_if(reply.headers, is_retry),
            api::RetryAfterOf({api::ApiError::kRateLimited, "", {}}) > 0 ? 1 : 0);
}

}  // namespace
}  // namespace agent_graph::agui

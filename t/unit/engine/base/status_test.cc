#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace agent_graph {
namespace {

Status Failure() {
  return Status(StatusCode::kNotFound, "no such thread").WithDetail("row 7");
}

TEST(Status, OfSuccessIsSmallAndHasNoTexts) {
  const Status status;
  EXPECT_LE(sizeof(Status), 2 * sizeof(void*));
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.detail(), "");
  EXPECT_EQ(status.ToString(), "OK");
}

TEST(Status, OfAFailureHasItsTexts) {
  const Status status = Failure();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "no such thread");
  EXPECT_EQ(status.detail(), "row 7");
  EXPECT_EQ(status.ToString(), "NOT_FOUND: no such thread (row 7)");
}

TEST(Status, MayHaveADetailOnly) {
  Status status(StatusCode::kInternal, "");
  status.WithDetail("row 7");
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.ToString(), "INTERNAL (row 7)");
}

TEST(Status, CopiesAreIndependent) {
  Status status = Failure();
  Status copy = status;
  copy.WithDetail("row 8");
  EXPECT_EQ(status.detail(), "row 7");
  EXPECT_EQ(copy, status);  // details do not count
  status = copy;
  EXPECT_EQ(status.detail(), "row 8");
  const Status& same = status;
  status = same;
  EXPECT_EQ(status.detail(), "row 8");
}

// ok() and code() are valid after a move, so a caller may still ask whether it was a failure.
TEST(Status, KeepsItsCodeWhenItIsMovedFrom) {
  Status status = Failure();
  const Status taken = std::move(status);
  EXPECT_EQ(taken.message(), "no such thread");
  EXPECT_FALSE(status.ok());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(status.message(), "");
}

TEST(Result, HasAValueOrAStatus) {
  Result<std::unique_ptr<int>> value = std::make_unique<int>(7);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(**value, 7);
  EXPECT_TRUE(value.status().ok());
  Result<std::unique_ptr<int>> failure = Failure();
  ASSERT_FALSE(failure.ok());
  EXPECT_EQ(failure.status().detail(), "row 7");
  EXPECT_EQ(std::move(failure).status(), Failure());
}

}  // namespace
}  // namespace agent_graph

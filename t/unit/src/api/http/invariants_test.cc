// Invariants of the router: a route that breaks one ends the process.
#include <gtest/gtest.h>

#include "api/http/router.h"

namespace agent_graph::api {
namespace {

TEST(RouterDeathTest, APatternIsAPath) {
  const Route routes[] = {{.method = Method::kGet, .pattern = "ping"}};
  EXPECT_DEATH(const Router router(routes), "a route's pattern is not a path");
}

}  // namespace
}  // namespace agent_graph::api

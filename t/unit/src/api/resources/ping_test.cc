#include "api/resources/ping.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::api {
namespace {

TEST(Ping, RepliesPong) {
  Reply ping = PingReply("r");
  EXPECT_EQ(ping.status, 200);
  EXPECT_EQ(json::parse(ping.body)["data"], "pong");
}

}  // namespace
}  // namespace agent_graph::api

// Invariants of the closing handshake: a transition that breaks one ends the process.
#include <gtest/gtest.h>

#include "websocket/endpoint.h"

namespace agent_graph::websocket {
namespace {

TEST(EndpointDeathTest, ClosesInTheOrderOfItsPicture) {
  Endpoint endpoint{ParserLimits{}};
  EXPECT_DEATH(endpoint.Enter(Endpoint::Phase::kFinished),
               "the closing handshake follows the picture");
  endpoint.Close(close_code::kNormal, "");
  EXPECT_DEATH(endpoint.Enter(Endpoint::Phase::kOpen), "the closing handshake follows the picture");
}

}  // namespace
}  // namespace agent_graph::websocket

#include "ngx_module/worker/websocket_phase.h"

#include <gtest/gtest.h>

namespace agent_graph::nginx {
namespace {

using Phase = WebSocketPhase::Phase;

constexpr char kCannotFollow[] = "a WebSocket changed to a phase that cannot follow";

TEST(WebSocketPhaseTest, OpensAndEnds) {
  WebSocketPhase phase;
  EXPECT_EQ(phase.value(), Phase::kHandshake);
  phase.Accept();
  phase.Open();
  EXPECT_EQ(phase.value(), Phase::kOpen);
  phase.End();
  EXPECT_EQ(phase.value(), Phase::kEnded);
}

TEST(WebSocketPhaseTest, EndsWithAConnectionThatIsLostEarly) {
  WebSocketPhase phase;
  phase.Accept();
  phase.End();
  EXPECT_EQ(phase.value(), Phase::kEnded);
}

TEST(WebSocketPhaseDeathTest, PhasesThatCannotFollowEndTheProcess) {
  WebSocketPhase handshake;
  EXPECT_DEATH(handshake.Open(), kCannotFollow);
  EXPECT_DEATH(handshake.End(), kCannotFollow);
  WebSocketPhase accepted;
  accepted.Accept();
  EXPECT_DEATH(accepted.Accept(), kCannotFollow);
  accepted.End();
  EXPECT_DEATH(accepted.End(), kCannotFollow);
}

}  // namespace
}  // namespace agent_graph::nginx

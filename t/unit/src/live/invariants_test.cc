// Invariants of live sessions: a transition that breaks one ends the process.
#include <gtest/gtest.h>

#include <memory>

#include "agent_graph/graph.h"
#include "graph/compiled_graph.h"
#include "live/history.h"
#include "live/journal.h"
#include "live/lifecycle.h"
#include "live/link_phase.h"
#include "live/pending_calls.h"
#include "live/reconnects.h"
#include "live/session_driver.h"
#include "live/turn.h"
#include "session_fixture.h"

namespace agent_graph::live {
namespace {

TEST(HistoryDeathTest, HasNoMoreMessagesThanItHolds) {
  const History history({});
  EXPECT_DEATH((void)history.Latest(1), "the history has as many messages");
}

TEST(LifecycleDeathTest, OnlyADrainHasAnEnd) {
  const Lifecycle running;
  EXPECT_DEATH((void)running.closing(), "the session drains");
}

TEST(LifecycleDeathTest, OnlyADrainLosesItsClient) {
  Lifecycle running;
  EXPECT_DEATH(running.LoseClient({}), "a session that loses its client drains");
}

TEST(LinkPhaseDeathTest, FollowsItsPicture) {
  LinkPhase absent;
  EXPECT_DEATH(absent.HandOver(kNoDeadline), "the phases of a link follow the picture");
  EXPECT_DEATH(absent.AnnounceEnd(kNoDeadline), "only a link that is in use announces its end");
  EXPECT_DEATH(absent.Accept(kNoDeadline), "a link is accepted once");
  LinkPhase connecting;
  connecting.Connect(kNoDeadline, /*resumed=*/false);
  EXPECT_DEATH(connecting.Leave(kNoDeadline), "a link is left after it was accepted");
}

TEST(PendingCallsDeathTest, ABatchHasCalls) {
  PendingCalls pending;
  EXPECT_DEATH(pending.Add({}), "a batch without calls gets no results");
}

TEST(ReconnectsDeathTest, APauseFollowsAFailure) {
  const SessionTimes times;
  const Reconnects reconnects(times);
  EXPECT_DEATH((void)reconnects.pause(), "a pause follows a failure");
}

TEST(TurnDeathTest, AnAnswerThatIsDueHasACause) {
  Turn turn;
  EXPECT_DEATH(turn.Enter(Turn::Due{.cause = Turn::Cause::kNone}),
               "an answer that is due has a cause");
}

class SessionDeathTest : public SessionTest {};

TEST_F(SessionDeathTest, OpensNoLinkAfterItsEnd) {
  Session& session = BeginReady();
  session.lifecycle_.Close();
  EXPECT_DEATH(session.OpenLink(), "a session that has ended opens no link");
}

TEST_F(SessionDeathTest, AnOpenLinkIsThere) {
  Session& session = BeginReady();
  link_.reset();
  EXPECT_DEATH((void)session.link(), "a link that is connecting, ready or departing is open");
}

class UnboundedMemory final : public run::CallMemory {
 public:
  Status AwaitMemory(uint64_t) override { return Status::Ok(); }
  void HoldCalls(uint64_t) override {}
};

TEST(SessionDriverDeathTest, ASessionEndsBeforeItsSocket) {
  GraphBuilder builder;
  builder.AddLiveAgent("VOICE", {}).AddEdge(START, "VOICE");
  const auto graph = graph::CompiledGraph::Compile(builder, "app").value();
  auto environment = std::make_shared<run::RunEnvironment>();
  environment->graph = graph;
  bridge::Outbox outbox;
  bridge::RequestHead head;
  head.websocket = true;
  bridge::Exchange exchange({1, 1}, head, outbox, bridge::CreditLimits{});
  const LiveContext context{.graph = graph.get()};
  const InitFrame init;
  UnboundedMemory memory;
  SessionDriver driver(exchange, context, init, {},
                       std::make_shared<Journal>(Journal::Options{.environment = environment}),
                       memory);
  EXPECT_DEATH(driver.CloseSocket(), "a session ends before its socket");
}

}  // namespace
}  // namespace agent_graph::live

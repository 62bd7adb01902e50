// The transitions of the state machines that make up a session.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "live/lifecycle.h"
#include "live/link_phase.h"
#include "live/pending_calls.h"
#include "live/reconnects.h"
#include "live/tool_results.h"
#include "live/transfer_tool.h"
#include "live/turn.h"
#include "live/user_transcript.h"

namespace agent_graph::live {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Deadline kNow = MonotonicClock::now();

// --- Lifecycle --------------------------------------------------------------------------------

TEST(LifecycleTest, RunsDrainsAndCloses) {
  Lifecycle lifecycle;
  EXPECT_TRUE(lifecycle.running());
  EXPECT_EQ(lifecycle.wake_at(), kNoDeadline);
  lifecycle.Drain(kNow + seconds(30), {1000, "closed", Outcome::kOk});
  EXPECT_TRUE(lifecycle.draining());
  EXPECT_EQ(lifecycle.closing().reason, "closed");
  EXPECT_EQ(lifecycle.wake_at(), kNow + seconds(30));
  EXPECT_FALSE(lifecycle.expired(kNow + seconds(29)));
  EXPECT_TRUE(lifecycle.expired(kNow + seconds(30)));
  lifecycle.Close();
  EXPECT_TRUE(lifecycle.closed());
  EXPECT_EQ(lifecycle.wake_at(), kNoDeadline);
}

TEST(LifecycleTest, ListeningEndsAtItsDeadline) {
  Lifecycle lifecycle;
  lifecycle.Drain(kNow + seconds(30), {});
  EXPECT_EQ(lifecycle.step(), Lifecycle::Step::kSending);
  lifecycle.Advance(kNow + seconds(10));
  EXPECT_EQ(lifecycle.step(), Lifecycle::Step::kSending);
  lifecycle.Listen(kNow + seconds(2));
  EXPECT_EQ(lifecycle.wake_at(), kNow + seconds(2));
  lifecycle.Advance(kNow + seconds(1));
  EXPECT_EQ(lifecycle.step(), Lifecycle::Step::kListening);
  lifecycle.Advance(kNow + seconds(2));
  EXPECT_EQ(lifecycle.step(), Lifecycle::Step::kAnswering);
  EXPECT_EQ(lifecycle.wake_at(), kNow + seconds(30));
}

TEST(LifecycleDeathTest, NeverGoesBack) {
  Lifecycle draining;
  draining.Drain(kNow, {});
  EXPECT_DEATH(draining.Drain(kNow, {}), "never goes back");
  draining.AwaitAnswers();
  EXPECT_DEATH(draining.Listen(kNow), "not repeated");
  Lifecycle closed;
  closed.Close();
  EXPECT_DEATH(closed.Close(), "never goes back");
  EXPECT_DEATH(closed.Drain(kNow, {}), "never goes back");
  EXPECT_DEATH(closed.AwaitAnswers(), "only a session that drains");
}

// --- LinkPhase --------------------------------------------------------------------------------

using LinkState = LinkPhase::Phase;

LinkPhase LinkIn(LinkState phase) {
  LinkPhase link;
  if (phase == LinkState::kAbsent) return link;
  link.Connect(kNow + seconds(15), /*resumed=*/true);
  if (phase == LinkState::kConnecting) return link;
  if (phase == LinkState::kWaiting) {
    link.Wait(kNow + seconds(1));
    return link;
  }
  link.Accept(kNow + seconds(60));
  if (phase == LinkState::kLeaving) link.Leave(kNow + seconds(3));
  if (phase == LinkState::kHandingOver) link.HandOver(kNow + seconds(2));
  return link;
}

void MoveLink(LinkPhase& link, LinkState to) {
  switch (to) {
    case LinkState::kAbsent:
      return link.Close();
    case LinkState::kConnecting:
      return link.Connect(kNow, /*resumed=*/false);
    case LinkState::kReady:
      return link.Accept(kNow);
    case LinkState::kLeaving:
      return link.Leave(kNow);
    case LinkState::kHandingOver:
      return link.HandOver(kNow);
    case LinkState::kWaiting:
      return link.Wait(kNow);
  }
}

struct LinkTransitions {
  LinkState from;
  std::set<LinkState> to;
};

const std::vector<LinkTransitions> kLinkTransitions = {
    {.from = LinkState::kAbsent, .to = {LinkState::kAbsent, LinkState::kConnecting}},
    {.from = LinkState::kConnecting,
     .to = {LinkState::kAbsent, LinkState::kConnecting, LinkState::kReady, LinkState::kHandingOver,
            LinkState::kWaiting}},
    {.from = LinkState::kReady,
     .to = {LinkState::kAbsent, LinkState::kConnecting, LinkState::kLeaving,
            LinkState::kHandingOver, LinkState::kWaiting}},
    {.from = LinkState::kLeaving,
     .to = {LinkState::kAbsent, LinkState::kConnecting, LinkState::kWaiting}},
    {.from = LinkState::kHandingOver, .to = {LinkState::kAbsent, LinkState::kConnecting}},
    {.from = LinkState::kWaiting, .to = {LinkState::kAbsent, LinkState::kConnecting}},
};

TEST(LinkPhaseDeathTest, MakesOnlyTheTransitionsOfTheTable) {
  for (const LinkTransitions& row : kLinkTransitions) {
    for (const LinkTransitions& target : kLinkTransitions) {
      LinkPhase link = LinkIn(row.from);
      ASSERT_EQ(link.phase(), row.from);
      if (row.to.contains(target.from)) {
        MoveLink(link, target.from);
        EXPECT_EQ(link.phase(), target.from);
      } else {
        EXPECT_DEATH(MoveLink(link, target.from), "check failed");
      }
    }
  }
}

TEST(LinkPhaseTest, EachPhaseHasItsOwnDeadline) {
  EXPECT_EQ(LinkIn(LinkState::kAbsent).deadline(), kNoDeadline);
  EXPECT_EQ(LinkIn(LinkState::kConnecting).deadline(), kNow + seconds(15));
  EXPECT_EQ(LinkIn(LinkState::kReady).deadline(), kNoDeadline);
  EXPECT_EQ(LinkIn(LinkState::kLeaving).deadline(), kNow + seconds(3));
  EXPECT_EQ(LinkIn(LinkState::kHandingOver).deadline(), kNow + seconds(2));
  EXPECT_EQ(LinkIn(LinkState::kWaiting).deadline(), kNow + seconds(1));
}

TEST(LinkPhaseTest, AnAnnouncedEndOutlivesTheAcceptance) {
  LinkPhase link = LinkIn(LinkState::kConnecting);
  EXPECT_TRUE(link.AnnounceEnd(kNow + seconds(20)));
  EXPECT_EQ(link.replace_at(), kNoDeadline);  // it is replaced only after it was accepted
  link.Accept(kNow + seconds(60));
  EXPECT_EQ(link.replace_at(), kNow + seconds(20));
  EXPECT_FALSE(link.AnnounceEnd(kNow + seconds(10)));
  EXPECT_EQ(link.replace_at(), kNow + seconds(10));
  link.Connect(kNow, /*resumed=*/false);
  link.Accept(kNow);
  EXPECT_EQ(link.replace_at(), kNoDeadline);
}

TEST(LinkPhaseDeathTest, OnlyALinkInUseAnnouncesItsEnd) {
  for (const LinkState phase :
       {LinkState::kAbsent, LinkState::kLeaving, LinkState::kHandingOver, LinkState::kWaiting}) {
    LinkPhase link = LinkIn(phase);
    EXPECT_DEATH(link.AnnounceEnd(kNow), "check failed");
  }
}

TEST(LinkPhaseTest, IsProvenAfterItsTime) {
  EXPECT_FALSE(LinkIn(LinkState::kConnecting).proven(kNow + seconds(100)));
  EXPECT_FALSE(LinkIn(LinkState::kReady).proven(kNow + seconds(59)));
  EXPECT_TRUE(LinkIn(LinkState::kReady).proven(kNow + seconds(60)));
  EXPECT_TRUE(LinkIn(LinkState::kLeaving).proven(kNow + seconds(60)));
  EXPECT_FALSE(LinkIn(LinkState::kWaiting).proven(kNow + seconds(100)));
}

TEST(LinkPhaseTest, CountsLinks) {
  LinkPhase link;
  EXPECT_EQ(link.number(), 0u);
  link.Connect(kNow, false);
  link.Accept(kNow);
  link.Connect(kNow, false);
  EXPECT_EQ(link.number(), 2u);
}

// --- Reconnects -------------------------------------------------------------------------------

TEST(ReconnectsTest, PausesGrowUntilItGivesUp) {
  const SessionTimes times{.reconnect_last = milliseconds(3000)};
  Reconnects reconnects(times);
  for (const int pause : {500, 1000, 2000, 3000, 3000}) {
    EXPECT_TRUE(reconnects.CountFailure());
    EXPECT_EQ(reconnects.pause(), milliseconds(pause));
  }
  EXPECT_FALSE(reconnects.CountFailure());
  reconnects.Reset();
  EXPECT_TRUE(reconnects.CountFailure());
  EXPECT_EQ(reconnects.pause(), milliseconds(500));
}

// --- Turn -------------------------------------------------------------------------------------

TEST(TurnTest, AnAnswerIsDueSpokenAndComplete) {
  Turn turn;
  EXPECT_TRUE(turn.idle());
  turn.Expect();
  EXPECT_EQ(turn.phase(), Turn::Phase::kDue);
  turn.Speak();
  EXPECT_TRUE(turn.speaking());
  EXPECT_TRUE(turn.expected());
  turn.Complete(/*answer_due=*/false);
  EXPECT_TRUE(turn.idle());
  turn.Speak();
  EXPECT_FALSE(turn.expected());
  turn.Complete(/*answer_due=*/true);
  EXPECT_EQ(turn.phase(), Turn::Phase::kDue);
  turn.Speak();
  turn.Interrupt();
  EXPECT_EQ(turn.phase(), Turn::Phase::kDue);
}

TEST(TurnTest, AnAnswerThatHasBegunIsNotCancelled) {
  Turn turn;
  turn.Expect();
  turn.CancelExpected();
  EXPECT_TRUE(turn.idle());
  turn.Expect();
  turn.Speak();
  turn.CancelExpected();
  EXPECT_TRUE(turn.speaking());
  EXPECT_FALSE(turn.expected());
}

TEST(TurnTest, AHandoverLastsUntilTheNewAgentHasAnswered) {
  Turn turn;
  turn.Speak();
  turn.ExpectFromNewAgent();
  EXPECT_EQ(turn.phase(), Turn::Phase::kDue);
  turn.Expect();
  turn.Speak();
  EXPECT_TRUE(turn.handed_over());
  turn.ExpectAfterTools();
  EXPECT_TRUE(turn.handed_over());
  turn.Speak();
  turn.Complete(/*answer_due=*/true);
  EXPECT_FALSE(turn.handed_over());
}

TEST(TurnTest, TheClockRunsFromTheFirstExpectation) {
  Turn turn;
  turn.StartClock(kNow);
  EXPECT_FALSE(turn.clock_started());
  turn.Expect();
  turn.StartClock(kNow + seconds(1));
  turn.StartClock(kNow + seconds(2));
  turn.Speak();
  EXPECT_EQ(turn.TakeClock(), kNow + seconds(1));
  EXPECT_TRUE(turn.speaking());
  EXPECT_EQ(turn.TakeClock(), kNoDeadline);
  turn.StartClock(kNow);
  turn.ExpectAfterTools();
  EXPECT_FALSE(turn.clock_started());
}

// --- UserTranscript ---------------------------------------------------------------------------

Line TextLine(const std::string& text) {
  return {Line::Kind::kThread, Message::User(text)};
}

TEST(UserTranscriptTest, WordsOpenIt) {
  UserTranscript transcript;
  EXPECT_FALSE(transcript.open());
  EXPECT_EQ(transcript.Add("good "), "good ");
  EXPECT_EQ(transcript.phase(), UserTranscript::Phase::kOpen);
  EXPECT_EQ(transcript.FinishPart("good morning"), "morning");
  const UserTranscript::Finished finished = transcript.Finish();
  EXPECT_FALSE(finished.expected);
  EXPECT_EQ(finished.text, "good morning");
  EXPECT_EQ(transcript.phase(), UserTranscript::Phase::kNone);
}

TEST(UserTranscriptTest, HoldsLinesWhileItIsExpected) {
  UserTranscript transcript;
  transcript.Expect(kNow + seconds(10), /*announced=*/1);
  transcript.ExtendWait(kNow + seconds(5));
  EXPECT_EQ(transcript.deadline(), kNow + seconds(10));
  transcript.SetWait(kNow + seconds(5));
  EXPECT_EQ(transcript.deadline(), kNow + seconds(5));
  Line line = TextLine("an answer");
  EXPECT_TRUE(transcript.Hold(line));
  transcript.Add("a question");
  EXPECT_EQ(transcript.phase(), UserTranscript::Phase::kExpected);
  const UserTranscript::Finished finished = transcript.Finish();
  EXPECT_TRUE(finished.expected);
  EXPECT_EQ(finished.text, "a question");
  EXPECT_EQ(finished.held.size(), 1u);
  EXPECT_EQ(transcript.deadline(), kNoDeadline);
}

TEST(UserTranscriptTest, HoldsFiftyLines) {
  UserTranscript transcript;
  transcript.Expect(kNow, /*announced=*/1);
  for (int i = 0; i < 50; ++i) {
    Line line = TextLine("x");
    EXPECT_TRUE(transcript.Hold(line));
  }
  Line line = TextLine("one more");
  EXPECT_FALSE(transcript.Hold(line));
  EXPECT_EQ(line.message.Text(), "one more");
}

TEST(UserTranscriptTest, FillsAndRemovesPlaceholders) {
  UserTranscript transcript;
  transcript.Expect(kNow, /*announced=*/1);
  for (int i = 0; i < 2; ++i) {
    Line placeholder{Line::Kind::kPlaceholder, {}};
    EXPECT_TRUE(transcript.Hold(placeholder));
    transcript.AddAnnounced();
  }
  transcript.FillPlaceholder(2, "third");
  transcript.FillPlaceholder(1, " ");
  EXPECT_EQ(transcript.announced(), 1u);
  const UserTranscript::Finished finished = transcript.Finish();
  ASSERT_EQ(finished.held.size(), 1u);
  EXPECT_EQ(finished.held[0].kind, Line::Kind::kTranscript);
  EXPECT_EQ(finished.held[0].message.Text(), "third");
}

TEST(UserTranscriptDeathTest, EndsBeforeTheNextBegins) {
  UserTranscript open;
  open.Add("words");
  EXPECT_DEATH(open.Expect(kNow, 0), "it ends before the next one begins");
  Line line = TextLine("x");
  EXPECT_DEATH((void)open.Hold(line), "the transcript is expected");
  UserTranscript expected;
  expected.Expect(kNow, 0);
  EXPECT_DEATH(expected.Expect(kNow, 0), "it ends before the next one begins");
  EXPECT_DEATH(expected.FillPlaceholder(1, "x"), "announced");
}

// --- tool calls -------------------------------------------------------------------------------

TEST(PendingCallsTest, ABatchEndsWithItsResults) {
  PendingCalls pending;
  PendingCalls::Batch batch = pending.Make({{"c1", "add"}, {"c2", kTransferTool}}, true, 7);
  EXPECT_EQ(batch.number, 1u);
  EXPECT_EQ(batch.calls.size(), 1u);
  ASSERT_TRUE(batch.transfer);
  EXPECT_EQ(batch.transfer->id, "c2");
  EXPECT_TRUE(pending.empty());
  pending.Add(batch);
  EXPECT_TRUE(pending.AnyOfLink(7));
  EXPECT_FALSE(pending.AnyOfLink(8));
  EXPECT_TRUE(pending.Take(1));
  EXPECT_FALSE(pending.Take(1));
  EXPECT_TRUE(pending.empty());
}

TEST(PendingCallsTest, AnAgentThatMayNotTransferCallsATool) {
  PendingCalls pending;
  const PendingCalls::Batch batch = pending.Make({{"c1", kTransferTool}}, false, 1);
  EXPECT_FALSE(batch.transfer);
  EXPECT_EQ(batch.calls.size(), 1u);
}

TEST(PendingCallsTest, ALinkCancelsItsOwnCalls) {
  PendingCalls pending;
  pending.Add(pending.Make({{"c1", "add"}, {"c2", "now"}}, false, 1));
  pending.Add(pending.Make({{"c1", "add"}}, false, 2));
  EXPECT_TRUE(pending.Cancel({{"c1", ""}}, 1).empty());
  const std::vector<PendingCalls::Batch> over = pending.Cancel({{"c2", ""}}, 1);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].number, 1u);
  EXPECT_FALSE(pending.AnyOfLink(1));
  EXPECT_TRUE(pending.AnyOfLink(2));
}

TEST(PendingCallsDeathTest, ABatchIsAddedOnce) {
  PendingCalls pending;
  const PendingCalls::Batch batch = pending.Make({{"c1", "add"}}, false, 1);
  pending.Add(batch);
  EXPECT_DEATH(pending.Add(batch), "added once");
}

TEST(UnsentResultsTest, AreJoinedAndTakenOnce) {
  UnsentResults unsent;
  unsent.Add(DescribeResults({{"c1", "add", "{}"}}, {{"c1", "add", "3", false}}));
  unsent.Add("another");
  EXPECT_EQ(unsent.Take(), "The tool add, called with {}, returned 3\nanother");
  EXPECT_TRUE(unsent.empty());
}

}  // namespace
}  // namespace agent_graph::live

// Invariants of exchanges and of the inbox: a transition that breaks one ends the process.
#include <gtest/gtest.h>

#include <memory>

#include "bridge/exchange.h"
#include "bridge/inbox.h"
#include "runtime/runtime.h"

namespace agent_graph::bridge {
namespace {

class State : public SocketState {};

class ExchangeDeathTest : public testing::Test {
 protected:
  static RequestHead SocketHead() {
    RequestHead head;
    head.websocket = true;
    return head;
  }

  Outbox outbox_;
  Exchange exchange_{{1, 1}, SocketHead(), outbox_, CreditLimits{}};
};

TEST_F(ExchangeDeathTest, CreditComesBackOnce) {
  ASSERT_TRUE(exchange_.Send("12345", std::chrono::minutes(1)).ok());
  exchange_.ReturnCredit(5);
  EXPECT_DEATH(exchange_.ReturnCredit(1), "check failed: .*credit comes back once");
}

TEST_F(ExchangeDeathTest, AHandshakeIsAcceptedBeforeAnythingIsAnswered) {
  exchange_.SendHead({.status = 403});
  EXPECT_DEATH(exchange_.AcceptSocket({.status = 101}, std::make_unique<State>()),
               "a handshake is accepted before anything is answered");
}

TEST_F(ExchangeDeathTest, AHandshakeIsAcceptedOnce) {
  exchange_.AcceptSocket({.status = 101}, std::make_unique<State>());
  EXPECT_DEATH(exchange_.AcceptSocket({.status = 101}, std::make_unique<State>()),
               "a handshake is accepted before anything is answered");
  EXPECT_DEATH(exchange_.socket().SetState(std::make_unique<State>()),
               "a handshake is accepted once");
}

TEST_F(ExchangeDeathTest, ATurnThatIsOverTakesNoMessage) {
  EXPECT_FALSE(exchange_.socket().NextMessage().has_value());
  EXPECT_DEATH((void)exchange_.socket().NextMessage(), "only a running turn takes messages");
}

TEST_F(ExchangeDeathTest, EveryMessageOfTheMailboxIsCounted) {
  EXPECT_FALSE(exchange_.socket().Deliver({false, "hello"})) << "the handshake is running";
  exchange_.socket().mailbox_bytes_ = 0;
  EXPECT_DEATH((void)exchange_.socket().NextMessage(), "every message of the mailbox is counted");
}

// The runtime lives in the process that dies.
void EndAnExchangeThatWasNotAdmitted() {
  runtime::Runtime runtime({});
  if (!runtime.Start().ok()) return;
  Outbox outbox;
  Inbox* its_inbox = nullptr;
  Inbox inbox(runtime, {}, [&](const ExchangePtr&) {
    MutexLock lock(its_inbox->mutex_);
    its_inbox->admitted_ = 0;
  });
  its_inbox = &inbox;
  (void)inbox.Submit(
      std::make_shared<Exchange>(ExchangeAddress{1, 1}, RequestHead{}, outbox, CreditLimits{}));
  (void)runtime.Stop(kNoDeadline);
}

TEST(InboxDeathTest, AnExchangeIsAtWorkFromItsAdmissionToItsEnd) {
  EXPECT_DEATH(EndAnExchangeThatWasNotAdmitted(),
               "an exchange is at work from its admission to its end");
}

}  // namespace
}  // namespace agent_graph::bridge

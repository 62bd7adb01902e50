// Turns and mailbox of a WebSocket's exchange, without an event loop and without fibers.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bridge/exchange.h"

namespace agent_graph::bridge {
namespace {

constexpr std::chrono::minutes kLong{10};

using runtime::CancelReason;

class Kept : public SocketState {};

class SocketTest : public testing::Test {
 protected:
  SocketTest() {
    RequestHead head;
    head.websocket = true;
    exchange_ = std::make_shared<Exchange>(ExchangeAddress{1, 1}, head, outbox_, CreditLimits{});
  }

  // Ends the current turn, which must have no message left.
  void EndTurn() { EXPECT_FALSE(exchange_->socket().NextMessage().has_value()); }
  std::string NextText() {
    std::optional<SocketMessage> message = exchange_->socket().NextMessage();
    return message ? message->payload : "none";
  }
  template <typename Payload>
  int Count() {
    std::vector<OutboxItem> items;
    outbox_.Swap(items);
    int count = 0;
    for (const OutboxItem& item : items) count += std::holds_alternative<Payload>(item.payload);
    return count;
  }

  Outbox outbox_;
  std::shared_ptr<Exchange> exchange_;
};

TEST_F(SocketTest, TheHandshakeIsATurn) {
  EXPECT_FALSE(exchange_->socket().Deliver({false, "early"}));
  exchange_->AcceptSocket({.status = 101}, std::make_unique<Kept>());
  EXPECT_NE(exchange_->socket().state(), nullptr);
  EXPECT_EQ(NextText(), "early");
  EndTurn();
  EXPECT_EQ(Count<TurnOver>(), 1);
}

TEST_F(SocketTest, AMessageBeginsATurnOnlyBetweenTurns) {
  EndTurn();
  EXPECT_TRUE(exchange_->socket().Deliver({false, "a"}));
  EXPECT_FALSE(exchange_->socket().Deliver({true, "b"}));
  EXPECT_EQ(NextText(), "a");
  EXPECT_FALSE(exchange_->socket().Deliver({false, "c"}));
  EXPECT_EQ(NextText(), "b");
  EXPECT_EQ(NextText(), "c");
  EndTurn();
  EXPECT_TRUE(exchange_->socket().Deliver({false, "d"}));
}

TEST_F(SocketTest, TakingAMessageGivesItsRoomBack) {
  EXPECT_FALSE(exchange_->socket().Deliver({false, "four"}));
  EXPECT_EQ(NextText(), "four");
  std::vector<OutboxItem> items;
  outbox_.Swap(items);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(std::get<ReadBody>(items[0].payload).bytes,
            (SocketMessage{false, "four"}).mailbox_bytes());
  EXPECT_GT((SocketMessage{}).mailbox_bytes(), 0u);
}

TEST_F(SocketTest, CancellingAMessageLeavesTheNextOneAlone) {
  EXPECT_FALSE(exchange_->socket().Deliver({false, "a"}));
  EXPECT_FALSE(exchange_->socket().Deliver({false, "b"}));
  exchange_->socket().CancelMessage(1, CancelReason::kDeadline);  // not taken yet
  EXPECT_EQ(NextText(), "a");
  EXPECT_FALSE(exchange_->active_cancellation().cancelled());
  exchange_->socket().CancelMessage(1, CancelReason::kDeadline);
  EXPECT_EQ(exchange_->active_cancellation().reason(), CancelReason::kDeadline);
  EXPECT_FALSE(exchange_->cancellation().cancelled());
  EXPECT_EQ(NextText(), "b");
  exchange_->socket().CancelMessage(1, CancelReason::kDeadline);  // too late
  EXPECT_FALSE(exchange_->active_cancellation().cancelled());
}

TEST_F(SocketTest, CancellingTheExchangeCancelsTheMessageAndEndsTheTurns) {
  EXPECT_FALSE(exchange_->socket().Deliver({false, "a"}));
  EXPECT_FALSE(exchange_->socket().Deliver({false, "b"}));
  EXPECT_EQ(NextText(), "a");
  exchange_->Cancel(CancelReason::kClientGone);
  EXPECT_EQ(exchange_->active_cancellation().reason(), CancelReason::kClientGone);
  EXPECT_EQ(exchange_->Send("frame", kLong).code(), StatusCode::kCancelled);
  EndTurn();
}

TEST_F(SocketTest, AMessageThatEndedByItsDeadlineIsStillRead) {
  EXPECT_FALSE(exchange_->socket().Deliver({false, "a"}));
  EXPECT_EQ(NextText(), "a");
  exchange_->socket().CancelMessage(1, CancelReason::kDeadline);
  const std::string answer(CreditLimits{}.high, 'x');
  exchange_->SendLast(answer);
  std::thread reader([&] {
    while (Count<MessageOver>() == 0) std::this_thread::yield();
    exchange_->ReturnCredit(answer.size());
  });
  EXPECT_TRUE(exchange_->AwaitReader(kLong).ok());
  reader.join();
}

TEST_F(SocketTest, NobodyWaitsForAReaderWhoHasGone) {
  EXPECT_FALSE(exchange_->socket().Deliver({false, "a"}));
  EXPECT_EQ(NextText(), "a");
  exchange_->SendLast(std::string(CreditLimits{}.high, 'x'));
  exchange_->Cancel(CancelReason::kClientGone);
  EXPECT_EQ(exchange_->AwaitReader(kLong).code(), StatusCode::kCancelled);
}

TEST_F(SocketTest, AClosedMailboxTakesNothing) {
  EXPECT_FALSE(exchange_->socket().Deliver({false, "a"}));
  EXPECT_FALSE(exchange_->socket().Close());
  EndTurn();
  EXPECT_FALSE(exchange_->socket().Deliver({false, "b"}));
}

TEST_F(SocketTest, ALeavingWorkerEndsTheTurnAfterItsMessage) {
  for (const char* text : {"a", "b", "c"}) {
    EXPECT_FALSE(exchange_->socket().Deliver({false, text}));
  }
  EXPECT_EQ(NextText(), "a");
  exchange_->socket().RequestLeave();
  EndTurn();
  EXPECT_FALSE(exchange_->socket().Deliver({false, "d"})) << "there is no further turn";
  std::vector<OutboxItem> items;
  outbox_.Swap(items);
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(std::get<ReadBody>(items[1].payload).bytes,
            2 * (SocketMessage{false, "b"}).mailbox_bytes())
      << "the socket is still read, because the client answers the Close";
  EXPECT_TRUE(std::holds_alternative<TurnOver>(items[2].payload));
  EXPECT_EQ(outbox_.memory().buffered(), 0u);
}

TEST_F(SocketTest, ALeavingWorkerHandlesTheMessageThatBeganATurn) {
  EndTurn();
  exchange_->socket().RequestLeave();
  EXPECT_TRUE(exchange_->socket().Deliver({false, "a"}));
  EXPECT_EQ(NextText(), "a");
  EndTurn();
}

TEST_F(SocketTest, ClosesBeforeItEnds) {
  exchange_->AcceptSocket({.status = 101}, std::make_unique<Kept>());
  exchange_->CloseSocket(1008, "not live", "rejected");
  exchange_->CloseSocket(1011, "again", "error");
  std::vector<OutboxItem> items;
  outbox_.Swap(items);
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(std::get<CloseSocket>(items[1].payload).code, 1008);
  EXPECT_EQ(std::get<End>(items[2].payload).outcome, "rejected");
}

}  // namespace
}  // namespace agent_graph::bridge

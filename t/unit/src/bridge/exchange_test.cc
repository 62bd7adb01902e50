#include "bridge/exchange.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "exchange_fixture.h"

namespace agent_graph::bridge {
namespace {

using runtime::CancelReason;

constexpr std::chrono::minutes kLong{10};

std::shared_ptr<Exchange> MakeSocket(Outbox& outbox) {
  RequestHead head;
  head.websocket = true;
  return std::make_shared<Exchange>(ExchangeAddress{1, 1}, std::move(head), outbox,
                                    CreditLimits{.high = 100, .low = 50});
}

TEST(Exchange, KeepsTheOrderOfChunksAndOtherItems) {
  Outbox outbox;
  auto exchange = MakeExchange(outbox);
  exchange->SendHead(ReplyHead{});
  exchange->SendLast("a");
  exchange->SendLast("b");
  exchange->CountRun("ok");
  exchange->SendLast("c");
  exchange->End("ok");
  const auto items = Take(outbox);
  ASSERT_EQ(items.size(), 5u);
  EXPECT_EQ(std::get<SendChunk>(items[1].payload).bytes, "ab");
  EXPECT_TRUE(std::holds_alternative<RunOver>(items[2].payload));
  EXPECT_EQ(std::get<SendChunk>(items[3].payload).bytes, "c");
  EXPECT_TRUE(std::holds_alternative<End>(items[4].payload));
}

TEST(Exchange, ReplyIsHeadBodyAndEndOnce) {
  Outbox outbox;
  const auto exchange = MakeExchange(outbox, {}, {7, 3});
  exchange->Reply(ReplyHead{.status = 201}, {"he", "", "llo"}, "ok");
  exchange->Reply(ReplyHead{}, {"again"}, "ok");
  exchange->End("error");
  const auto items = Take(outbox);
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[0].address.slot, 7u);
  EXPECT_EQ(items[0].address.generation, 3u);
  EXPECT_EQ(std::get<SendHead>(items[0].payload).head.status, 201);
  EXPECT_EQ(std::get<SendHead>(items[0].payload).head.content_length, 5);
  EXPECT_EQ(std::get<SendChunk>(items[1].payload).bytes, "he");
  EXPECT_EQ(std::get<SendChunk>(items[2].payload).bytes, "llo");
  EXPECT_EQ(std::get<End>(items[3].payload).outcome, "ok");
  EXPECT_TRUE(exchange->head_sent());
}

TEST(Exchange, ANoteWakesNobody) {
  Outbox outbox;
  const auto exchange = MakeExchange(outbox);
  EXPECT_FALSE(exchange->TakeNote());
  exchange->Annotate("thread", "first");
  exchange->Annotate("", "second");
  EXPECT_TRUE(Take(outbox).empty());
  const std::optional<RunNote> note = exchange->TakeNote();
  ASSERT_TRUE(note);
  EXPECT_EQ(note->thread_id, "thread");
  EXPECT_EQ(note->run_id, "second");
  EXPECT_GT(note->noted_at, MonotonicClock::time_point());
  EXPECT_FALSE(exchange->TakeNote());
}

TEST(Exchange, EndsAsErrorAndClosesItsFileWhenDropped) {
  Outbox outbox;
  int file;
  auto exchange = MakeExchange(outbox);
  exchange->body().Deliver(Body{.file = OpenFile(file), .file_length = 1});
  exchange.reset();
  EXPECT_EQ(fcntl(file, F_GETFD), -1);
  const auto items = Take(outbox);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(std::get<End>(items[0].payload).outcome, "error");
}

TEST(Exchange, ClosesAFileThatWasNotSent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    Outbox outbox;
    auto exchange = MakeExchange(outbox);
    exchange->SendFile(FileDescriptor(ends[1]), 0, 1);
  }
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "the other end is still open";
  close(ends[0]);
}

TEST_F(ExchangeOnAFiber, SendStallsAtHighAndGoesOnAtLow) {
  const auto exchange = MakeExchange(outbox_, {.high = 100, .low = 40});
  const Promise<StatusCode> first;
  const Promise<StatusCode> second;
  runtime_.Spawn([=] {
    first.Set(exchange->Send(std::string(250, 'x'), kLong).code());  // larger than high
    second.Set(exchange->Send("y", kLong).code());
  });
  EXPECT_EQ(*first.Wait(nullptr, kNoDeadline), StatusCode::kOk);
  LetFibersRun();
  exchange->ReturnCredit(200);  // 50 left: below high but above low
  LetFibersRun();
  EXPECT_EQ(Take(outbox_).size(), 1u);
  exchange->ReturnCredit(10);  // 40 left: at low
  EXPECT_EQ(*second.Wait(nullptr, kNoDeadline), StatusCode::kOk);
  const auto items = Take(outbox_);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(std::get<SendChunk>(items[0].payload).bytes, "y");
}

// Many clients that do not read would otherwise make the worker hold a line each.
TEST_F(ExchangeOnAFiber, CountsWhatWaitsForCredit) {
  const auto exchange = MakeExchange(outbox_, {.high = 100, .low = 40});
  const Promise<StatusCode> stalled;
  runtime_.Spawn([=] {
    static_cast<void>(exchange->Send(std::string(100, 'x'), kLong));
    stalled.Set(exchange->Send(std::string(1000, 'y'), kLong).code());
  });
  LetFibersRun();
  EXPECT_EQ(exchange->queued_bytes(), 100);
  EXPECT_EQ(outbox_.memory().buffered(), 1100u);
  exchange->Cancel(CancelReason::kClientGone);
  EXPECT_EQ(*stalled.Wait(nullptr, kNoDeadline), StatusCode::kCancelled);
  EXPECT_EQ(outbox_.memory().buffered(), 100u);
}

class ExchangeOfASmallWorker : public ExchangeOnAFiber {
 protected:
  Outbox small_outbox_{1000};
};

// Clients that do not read would otherwise use up the memory for the requests of all others.
TEST_F(ExchangeOfASmallWorker, SendStallsAboveLowWhileRepliesAreMany) {
  const auto exchange = MakeExchange(small_outbox_, {.high = 100, .low = 40});
  small_outbox_.memory().CountReplies(250 - 41);
  const Promise<StatusCode> few;
  const Promise<StatusCode> many;
  runtime_.Spawn([=] {
    exchange->SendLast(std::string(41, 'x'));
    few.Set(exchange->Send("y", kLong).code());  // 250 are a quarter, but not more
    many.Set(exchange->Send("z", kLong).code());
  });
  EXPECT_EQ(*few.Wait(nullptr, kNoDeadline), StatusCode::kOk);
  LetFibersRun();
  EXPECT_EQ(exchange->queued_bytes(), 42);
  exchange->ReturnCredit(2);  // 40 left: at low
  EXPECT_EQ(*many.Wait(nullptr, kNoDeadline), StatusCode::kOk);
  EXPECT_EQ(exchange->queued_bytes(), 41);
}

TEST_F(ExchangeOnAFiber, StalledSendEndsByCancellationOrDeadline) {
  for (const bool cancel : {true, false}) {
    const auto exchange = MakeExchange(outbox_, {.high = 1, .low = 0});
    const Promise<StatusCode> stalled;
    runtime_.Spawn([=] {
      static_cast<void>(exchange->Send("x", kLong));
      stalled.Set(exchange->Send("y", cancel ? kLong : std::chrono::milliseconds(1)).code());
    });
    if (cancel) exchange->Cancel(CancelReason::kClientGone);
    EXPECT_EQ(*stalled.Wait(nullptr, kNoDeadline),
              cancel ? StatusCode::kCancelled : StatusCode::kDeadlineExceeded);
    EXPECT_FALSE(exchange->Send("z", std::chrono::milliseconds(0)).ok());
  }
}

TEST(Exchange, CountsWhatItBuffers) {
  Outbox outbox;
  auto exchange = MakeExchange(outbox);
  Body body;
  body.bytes = "12345";
  exchange->body().Deliver(std::move(body));
  EXPECT_EQ(outbox.memory().buffered(), 5u);
  exchange->SendLast("123");
  EXPECT_EQ(outbox.memory().buffered(), 8u);
  exchange->ReturnCredit(2);
  EXPECT_EQ(outbox.memory().buffered(), 6u);
  exchange.reset();
  EXPECT_EQ(outbox.memory().buffered(), 0u);
}

TEST(Exchange, CountsWhatIsInMemory) {
  Outbox outbox;
  const WorkerMemory& memory = outbox.memory();
  auto exchange = MakeExchange(outbox);
  exchange->body().Deliver(Body{.bytes = "12345"});
  EXPECT_EQ(memory.in_memory(), 5u);
  ASSERT_TRUE(exchange->AwaitMemory(20, kNoDeadline).ok());
  EXPECT_EQ(memory.in_memory(), 25u);
  ASSERT_TRUE(exchange->body().Take(kNoDeadline).ok());
  exchange->body().CountedAsHeld();
  EXPECT_EQ(memory.in_memory(), 20u);
  EXPECT_EQ(memory.buffered(), 5u) << "the request is still at work";
  exchange->Hold(7);
  EXPECT_EQ(memory.in_memory(), 7u);
  exchange.reset();
  EXPECT_EQ(memory.in_memory(), 0u);
  EXPECT_EQ(memory.held(), 0u);
  EXPECT_EQ(memory.buffered(), 0u);

  int file;
  exchange = MakeExchange(outbox);
  exchange->body().Deliver(Body{.file = OpenFile(file), .file_length = 100});
  EXPECT_EQ(memory.buffered(), 100u);
  EXPECT_EQ(memory.in_memory(), 0u);
  exchange.reset();
  EXPECT_EQ(memory.buffered(), 0u);
}

TEST(Exchange, ATurnMayTakeManyMessagesAsTheyCome) {
  Outbox outbox;
  auto exchange = MakeSocket(outbox);
  runtime::Signal arrival;
  auto arrived = [&] {
    return arrival.Wait(nullptr, MonotonicClock::now() + std::chrono::milliseconds(1)) ==
           runtime::WakeReason::kNotified;
  };
  exchange->socket().NotifyArrivals(&arrival);
  EXPECT_FALSE(exchange->socket().TakeMessage());
  EXPECT_FALSE(
      exchange->socket().Deliver({false, "one"}));  // the handshake's turn is still running
  EXPECT_TRUE(arrived());
  EXPECT_EQ(exchange->socket().TakeMessage()->payload, "one");
  EXPECT_FALSE(exchange->socket().TakeMessage());
  exchange->socket().RequestLeave();
  EXPECT_TRUE(arrived());
  EXPECT_TRUE(exchange->socket().leaving());
  // Messages that arrived before the end are not lost.
  EXPECT_FALSE(exchange->socket().Deliver({false, "two"}));
  EXPECT_TRUE(exchange->socket().Close());
  EXPECT_TRUE(arrived());
  EXPECT_FALSE(exchange->socket().drained());
  EXPECT_EQ(exchange->socket().TakeMessage()->payload, "two");
  EXPECT_TRUE(exchange->socket().drained());
  exchange->socket().NotifyArrivals(nullptr);
  EXPECT_FALSE(exchange->socket().Deliver({false, "three"}));
  EXPECT_FALSE(exchange->socket().TakeMessage());
  EXPECT_FALSE(exchange->socket().Close());
}

TEST(Exchange, CountsMessagesUntilTheNextIsTaken) {
  Outbox outbox;
  auto exchange = MakeSocket(outbox);
  const SocketMessage message{false, "12345"};
  const uint64_t size = message.mailbox_bytes();
  EXPECT_FALSE(exchange->socket().Deliver(message));  // the handshake's turn is not over
  EXPECT_FALSE(exchange->socket().Deliver(message));
  EXPECT_EQ(outbox.memory().buffered(), 2 * size);
  ASSERT_TRUE(exchange->socket().NextMessage());
  EXPECT_EQ(outbox.memory().buffered(), 2 * size);  // the first is being worked on
  ASSERT_TRUE(exchange->socket().NextMessage());
  EXPECT_EQ(outbox.memory().buffered(), size);
  EXPECT_FALSE(exchange->socket().NextMessage());
  EXPECT_EQ(outbox.memory().buffered(), 0u);

  EXPECT_TRUE(exchange->socket().Deliver(message));
  EXPECT_FALSE(exchange->socket().Deliver(message));
  ASSERT_TRUE(exchange->socket().NextMessage());
  exchange->socket().Close();
  EXPECT_EQ(outbox.memory().buffered(), size);
  exchange.reset();
  EXPECT_EQ(outbox.memory().buffered(), 0u);
}

TEST(Exchange, LastLinesReachAClientThatIsStillThere) {
  Outbox outbox;
  auto timed_out = MakeExchange(outbox, {}, {1, 1});
  timed_out->Cancel(CancelReason::kDeadline);
  EXPECT_FALSE(timed_out->Send("line", kLong).ok());
  timed_out->SendLast("last");
  timed_out->End("timeout");
  timed_out->SendLast("too late");
  std::vector<OutboxItem> items = Take(outbox);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(std::get<SendChunk>(items[0].payload).bytes, "last");
  EXPECT_TRUE(std::holds_alternative<End>(items[1].payload));

  auto gone = MakeExchange(outbox, {}, {2, 1});
  gone->Cancel(CancelReason::kClientGone);
  gone->SendLast("last");
  EXPECT_TRUE(Take(outbox).empty());
}

}  // namespace
}  // namespace agent_graph::bridge

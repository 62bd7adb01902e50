#include "bridge/exchange.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bridge/inbox.h"
#include "runtime/runtime.h"

namespace agent_graph::bridge {
namespace {

constexpr std::chrono::minutes kLong{10};

using runtime::CancelReason;
using runtime::Promise;
using runtime::Runtime;
using runtime::RuntimeOptions;

bool Rings(const Outbox& outbox) {
  pollfd descriptor{outbox.doorbell(), POLLIN, 0};
  return poll(&descriptor, 1, 0) == 1;
}

std::vector<OutboxItem> Take(Outbox& outbox) {
  std::vector<OutboxItem> items;
  outbox.ClearDoorbell();
  outbox.Swap(items);
  return items;
}

// Waits for the doorbell like the event loop.
std::vector<OutboxItem> WaitAndTake(Outbox& outbox) {
  pollfd descriptor{outbox.doorbell(), POLLIN, 0};
  EXPECT_EQ(poll(&descriptor, 1, -1), 1);
  return Take(outbox);
}

std::shared_ptr<Exchange> MakeExchange(Outbox& outbox, CreditLimits credit = {},
                                       ExchangeAddress address = {1, 1}) {
  return std::make_shared<Exchange>(address, RequestHead{}, outbox, credit);
}

std::shared_ptr<Exchange> MakeSocket(Outbox& outbox) {
  RequestHead head;
  head.websocket = true;
  return std::make_shared<Exchange>(ExchangeAddress{1, 1}, std::move(head), outbox,
                                    CreditLimits{.high = 100, .low = 50});
}

TEST(Outbox, RingsOnlyWhenItWasEmpty) {
  Outbox outbox;
  ASSERT_TRUE(outbox.ok());
  EXPECT_FALSE(Rings(outbox));
  outbox.Push({{1, 1}, SendHead{}});
  EXPECT_TRUE(Rings(outbox));
  outbox.ClearDoorbell();
  outbox.Push({{1, 1}, End{}});
  EXPECT_FALSE(Rings(outbox)) << "the loop has not taken the first item yet";
  EXPECT_EQ(Take(outbox).size(), 2u);
  outbox.Push({{2, 1}, End{}});
  EXPECT_TRUE(Rings(outbox));
}

TEST(Outbox, JoinsSmallChunksOfAnExchange) {
  Outbox outbox;
  Outbox::OpenChunk first;
  Outbox::OpenChunk second;
  outbox.PushChunk({1, 1}, "a", first);
  outbox.PushChunk({2, 1}, "b", second);
  outbox.PushChunk({1, 1}, "c", first);
  outbox.PushChunk({1, 1}, std::string(64 * 1024, 'd'), first);
  outbox.PushChunk({1, 1}, "e", first);
  auto items = Take(outbox);
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(std::get<SendChunk>(items[0].payload).bytes, "ac");
  EXPECT_EQ(std::get<SendChunk>(items[1].payload).bytes, "b");
  EXPECT_EQ(std::get<SendChunk>(items[2].payload).bytes.size(), 64u * 1024);
  EXPECT_EQ(std::get<SendChunk>(items[3].payload).bytes, "e");
  outbox.PushChunk({1, 1}, "f", first);
  items = Take(outbox);
  ASSERT_EQ(items.size(), 1u) << "the loop has taken the chunk before";
  EXPECT_EQ(std::get<SendChunk>(items[0].payload).bytes, "f");
}

TEST(Outbox, HasFewItemsForManyLinesOfManyExchanges) {
  constexpr uint32_t kExchanges = 100;
  constexpr int kLines = 300;
  const std::string line(299, 'x');
  Outbox outbox;
  std::vector<std::shared_ptr<Exchange>> exchanges;
  for (uint32_t i = 0; i < kExchanges; ++i) exchanges.push_back(MakeExchange(outbox, {}, {i, 1}));
  for (int i = 0; i < kLines; ++i) {
    for (auto& exchange : exchanges) exchange->SendLast(line + "\n");
  }
  const auto items = Take(outbox);
  EXPECT_LE(items.size(), kExchanges * (kLines * 300 / (16 * 1024) + 1));
  size_t bytes = 0;
  for (const auto& item : items) bytes += std::get<SendChunk>(item.payload).bytes.size();
  EXPECT_EQ(bytes, kExchanges * kLines * 300u);
}

TEST(Exchange, KeepsTheOrderOfChunksAndOtherItems) {
  Outbox outbox;
  auto exchange = MakeExchange(outbox);
  exchange->SendHead(ReplyHead{});
  exchange->SendLast("a");
  exchange->SendLast("b");
  exchange->Annotate("thread", "run");
  exchange->SendLast("c");
  exchange->End("ok");
  const auto items = Take(outbox);
  ASSERT_EQ(items.size(), 5u);
  EXPECT_EQ(std::get<SendChunk>(items[1].payload).bytes, "ab");
  EXPECT_TRUE(std::holds_alternative<Annotate>(items[2].payload));
  EXPECT_EQ(std::get<SendChunk>(items[3].payload).bytes, "c");
  EXPECT_TRUE(std::holds_alternative<End>(items[4].payload));
}

TEST(Outbox, DropsLogLinesBeyondItsBoundAndSaysSo) {
  Outbox outbox;
  for (int i = 0; i < 1030; ++i) outbox.Log(LogLevel::kInfo, "line " + std::to_string(i));
  const auto items = Take(outbox);
  ASSERT_EQ(items.size(), 1025u);
  EXPECT_EQ(std::get<WriteLog>(items.back().payload).text, "6 log lines were dropped");
  outbox.Log(LogLevel::kInfo, "again");
  EXPECT_EQ(Take(outbox).size(), 1u);
}

TEST(Exchange, ReplyIsHeadBodyAndEndOnce) {
  Outbox outbox;
  const auto exchange = MakeExchange(outbox, {}, {7, 3});
  exchange->Annotate("thread", "run");
  exchange->Reply(ReplyHead{.status = 201}, {"he", "", "llo"}, "ok");
  exchange->Reply(ReplyHead{}, {"again"}, "ok");
  exchange->End("error");
  const auto items = Take(outbox);
  ASSERT_EQ(items.size(), 5u);
  EXPECT_EQ(items[1].address.slot, 7u);
  EXPECT_EQ(items[1].address.generation, 3u);
  EXPECT_EQ(std::get<Annotate>(items[0].payload).run_id, "run");
  EXPECT_EQ(std::get<SendHead>(items[1].payload).head.status, 201);
  EXPECT_EQ(std::get<SendHead>(items[1].payload).head.content_length, 5);
  EXPECT_EQ(std::get<SendChunk>(items[2].payload).bytes, "he");
  EXPECT_EQ(std::get<SendChunk>(items[3].payload).bytes, "llo");
  EXPECT_EQ(std::get<End>(items[4].payload).outcome, "ok");
  EXPECT_TRUE(exchange->head_sent());
}

// A descriptor and its number; fcntl of the number returns -1 when it is closed.
FileDescriptor OpenFile(int& number) {
  number = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  EXPECT_GE(number, 0);
  return FileDescriptor(number);
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

TEST(Exchange, LeavesTheFileOfABodyToWhoTakesIt) {
  Outbox outbox;
  int file;
  auto exchange = MakeExchange(outbox);
  exchange->body().Deliver(Body{.file = OpenFile(file), .file_length = 1});
  {
    const Result<Body> body = exchange->body().Take(kNoDeadline);
    ASSERT_TRUE(body.ok());
    EXPECT_NE(fcntl(file, F_GETFD), -1);
  }
  EXPECT_EQ(fcntl(file, F_GETFD), -1) << "it was read, the exchange goes on";
}

TEST(Exchange, ClosesAFileThatWasTakenInPieces) {
  Outbox outbox;
  int file;
  auto exchange = MakeExchange(outbox);
  exchange->body().Deliver(Body{.file = OpenFile(file), .file_length = 100'000});
  size_t bytes = 0;
  for (;;) {
    const Result<std::string> piece = exchange->body().TakePiece(kNoDeadline);
    ASSERT_TRUE(piece.ok());
    if (piece->empty()) break;
    bytes += piece->size();
    EXPECT_EQ(fcntl(file, F_GETFD) == -1, bytes == 100'000);
  }
  EXPECT_EQ(bytes, 100'000u);
}

TEST(Exchange, BodyThatIsThereIsNotAskedFor) {
  Outbox outbox;
  const auto exchange = MakeExchange(outbox);
  exchange->body().Deliver(Body{.bytes = "body"});
  exchange->body().Deliver(Body{.bytes = "another"});
  const Result<Body> body = exchange->body().Take(kNoDeadline);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->bytes, "body");
  EXPECT_TRUE(Take(outbox).empty());
  EXPECT_FALSE(exchange->body().Take(kNoDeadline).ok()) << "once";
}

class ExchangeOnAFiber : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(runtime_.Start().ok()); }
  void TearDown() override { EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok()); }

  // Fibers that are ready run before this returns, because fibers run in order.
  void LetFibersRun() {
    const Promise<bool> passed;
    runtime_.Spawn([=] { passed.Set(true); });
    ASSERT_TRUE(passed.Wait(nullptr, kNoDeadline).ok());
  }

  Outbox outbox_;
  Runtime runtime_{RuntimeOptions{}};
};

TEST_F(ExchangeOnAFiber, AsksForTheBodyAndWaits) {
  const auto exchange = MakeExchange(outbox_);
  const Promise<std::string> taken;
  runtime_.Spawn([=] { taken.Set(exchange->body().Take(kNoDeadline).value().bytes); });
  const auto items = WaitAndTake(outbox_);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_GT(std::get<ReadBody>(items[0].payload).bytes, 0u);
  exchange->body().Deliver(Body{.bytes = "late"});
  EXPECT_EQ(*taken.Wait(nullptr, kNoDeadline), "late");
}

TEST_F(ExchangeOnAFiber, BodyFailsByTheLoopByCancellationAndByDeadline) {
  struct Case {
    std::function<void(Exchange&)> act;
    Deadline deadline;
    StatusCode code;
  };
  for (const Case& test :
       {Case{[](Exchange& e) { e.body().Fail(Status(StatusCode::kInvalidArgument, "too large")); },
             kNoDeadline, StatusCode::kInvalidArgument},
        Case{[](Exchange& e) { e.Cancel(CancelReason::kClientGone); }, kNoDeadline,
             StatusCode::kCancelled},
        Case{[](Exchange&) {}, DeadlineAfter(std::chrono::milliseconds(1)),
             StatusCode::kDeadlineExceeded}}) {
    const auto exchange = MakeExchange(outbox_);
    const Promise<StatusCode> failed;
    runtime_.Spawn([=, deadline = test.deadline] {
      failed.Set(exchange->body().Take(deadline).status().code());
    });
    test.act(*exchange);
    EXPECT_EQ(*failed.Wait(nullptr, kNoDeadline), test.code);
  }
}

TEST_F(ExchangeOnAFiber, TakesABodyInPiecesAndAsksForMoreAsItDoes) {
  auto exchange = MakeExchange(outbox_);
  Promise<std::string> taken;
  runtime_.Spawn([=] {
    std::string body;
    for (;;) {
      std::string piece = exchange->body().TakePiece(kNoDeadline).value();
      if (piece.empty()) break;
      body += piece;
    }
    taken.Set(body);
  });
  std::vector<OutboxItem> items = WaitAndTake(outbox_);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(std::get<ReadBody>(items[0].payload).bytes, kBodyWindowBytes);
  const std::string half(kBodyWindowBytes / 2, 'x');
  exchange->body().DeliverPiece(half, false);
  items = WaitAndTake(outbox_);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(std::get<ReadBody>(items[0].payload).bytes, half.size());
  exchange->body().DeliverPiece("end", false);
  exchange->body().DeliverPiece("", true);
  EXPECT_EQ(taken.Wait(nullptr, kNoDeadline).value(), half + "end");
  EXPECT_EQ(outbox_.memory().buffered(), 0u);
}

TEST_F(ExchangeOnAFiber, PiecesOfABodyFailWithTheBody) {
  auto exchange = MakeExchange(outbox_);
  exchange->body().DeliverPiece("never taken", false);
  EXPECT_GT(outbox_.memory().buffered(), 0u);
  exchange->body().Fail(Status(StatusCode::kCancelled, "gone"));
  Promise<std::string> taken;
  runtime_.Spawn([=] { taken.Set(exchange->body().TakePiece(kNoDeadline).status().message()); });
  EXPECT_EQ(taken.Wait(nullptr, kNoDeadline).value(), "gone");
  LetFibersRun();
  exchange.reset();
  EXPECT_EQ(outbox_.memory().buffered(), 0u);
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

TEST_F(ExchangeOnAFiber, InboxRefusesBeyondItsBoundAndAfterClose) {
  runtime::Signal go;
  std::atomic<int> handled{0};
  const Promise<bool> first_runs;
  Runtime narrow(RuntimeOptions{});
  ASSERT_TRUE(narrow.Start().ok());
  Inbox inbox(narrow, {.running_max = 1, .waiting_max = 2}, [&](const ExchangePtr& exchange) {
    if (++handled == 1) {
      first_runs.Set(true);
      go.Wait(nullptr, kNoDeadline);
    }
    exchange->End("ok");
  });
  ASSERT_TRUE(inbox.Submit(MakeExchange(outbox_)));
  ASSERT_TRUE(first_runs.Wait(nullptr, kNoDeadline).ok());
  EXPECT_EQ(inbox.running(), 1u);
  EXPECT_EQ(inbox.waiting(), 0u);
  EXPECT_TRUE(inbox.Submit(MakeExchange(outbox_)));
  EXPECT_TRUE(inbox.Submit(MakeExchange(outbox_)));
  EXPECT_FALSE(inbox.Submit(MakeExchange(outbox_)));
  EXPECT_EQ(inbox.waiting(), 2u);
  inbox.Close();
  go.Notify();
  ASSERT_TRUE(narrow.Stop(kNoDeadline).ok());
  EXPECT_EQ(handled, 3) << "what was accepted still runs";
  EXPECT_FALSE(inbox.Submit(MakeExchange(outbox_)));
  EXPECT_EQ(inbox.waiting(), 0u);
  EXPECT_EQ(inbox.running(), 0u);
}

TEST(Inbox, LeavesFibersForWhatRunsStart) {
  Outbox outbox;
  Runtime runtime(RuntimeOptions{.fibers_max = 4});
  ASSERT_TRUE(runtime.Start().ok());
  std::atomic<int> helped{0};
  Inbox inbox(runtime, {.running_max = 2, .waiting_max = 100}, [&](const ExchangePtr& exchange) {
    const Promise<bool> help;
    runtime.Spawn([help] { help.Set(true); });
    helped += help.Wait(nullptr, kNoDeadline).ok();
    exchange->End("ok");
  });
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(inbox.Submit(MakeExchange(outbox, {}, {i, 1})));
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(helped, 100);
}

TEST(Inbox, ManyQueuedExchangesEndWithAStoppedRuntime) {
  Outbox outbox;
  Runtime runtime(RuntimeOptions{});
  Inbox inbox(runtime, {.running_max = 1, .waiting_max = 100'000},
              [](const ExchangePtr& exchange) { exchange->End("ok"); });
  for (uint32_t i = 0; i < 100'000; ++i)
    ASSERT_TRUE(inbox.Submit(MakeExchange(outbox, {}, {i, 1})));
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());  // never started, so nothing runs
  EXPECT_EQ(Take(outbox).size(), 100'000u);
  EXPECT_EQ(inbox.waiting(), 0u);
}

TEST(Inbox, EveryAcceptedExchangeEnds) {
  Outbox outbox;
  std::string reported;
  Runtime runtime(RuntimeOptions{.on_uncaught = [&](const std::string& line) { reported = line; }});
  ASSERT_TRUE(runtime.Start().ok());
  Inbox inbox(runtime, {.waiting_max = 10}, [](const ExchangePtr& exchange) {
    if (exchange->address().slot == 1) throw std::runtime_error("handler failed");
  });
  const auto thrown = MakeExchange(outbox, {}, {1, 1});  // references held by the event loop
  const auto forgotten = MakeExchange(outbox, {}, {2, 1});
  const auto too_late = MakeExchange(outbox, {}, {3, 1});
  ASSERT_TRUE(inbox.Submit(thrown));
  ASSERT_TRUE(inbox.Submit(forgotten));
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  ASSERT_TRUE(inbox.Submit(too_late));
  const auto items = Take(outbox);
  ASSERT_EQ(items.size(), 3u);
  for (const auto& item : items) EXPECT_EQ(std::get<End>(item.payload).outcome, "error");
  EXPECT_NE(reported.find("handler failed"), std::string::npos);
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

TEST(Exchange, FreesABodyThatWasTakenInPieces) {
  Outbox outbox;
  auto exchange = MakeExchange(outbox);
  exchange->body().Deliver(Body{.bytes = std::string(100'000, 'x')});
  size_t bytes = 0;
  for (;;) {
    const Result<std::string> piece = exchange->body().TakePiece(kNoDeadline);
    ASSERT_TRUE(piece.ok());
    if (piece->empty()) break;
    bytes += piece->size();
  }
  EXPECT_EQ(bytes, 100'000u);
  EXPECT_EQ(outbox.memory().in_memory(), 0u);
  EXPECT_TRUE(exchange->body().TakePiece(kNoDeadline)->empty());
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
  exchange->socket().Close();
  EXPECT_TRUE(arrived());
  EXPECT_FALSE(exchange->socket().drained());
  EXPECT_EQ(exchange->socket().TakeMessage()->payload, "two");
  EXPECT_TRUE(exchange->socket().drained());
  exchange->socket().NotifyArrivals(nullptr);
  EXPECT_FALSE(exchange->socket().Deliver({false, "three"}));
  EXPECT_FALSE(exchange->socket().TakeMessage());
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

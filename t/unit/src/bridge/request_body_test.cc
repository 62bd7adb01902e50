// Bodies of requests, at once and in pieces.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <vector>

#include "bridge/exchange.h"
#include "exchange_fixture.h"

namespace agent_graph::bridge {
namespace {

using runtime::CancelReason;

// Waits for the doorbell like the event loop.
std::vector<OutboxItem> WaitAndTake(Outbox& outbox) {
  pollfd descriptor{outbox.doorbell(), POLLIN, 0};
  EXPECT_EQ(poll(&descriptor, 1, -1), 1);
  return Take(outbox);
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

TEST_F(ExchangeOnAFiber, APieceOfABodyCountsUntilTheNextOneIsTaken) {
  const auto exchange = MakeExchange(outbox_);
  exchange->body().DeliverPiece("first", false);
  exchange->body().DeliverPiece("2nd", true);
  const Promise<std::vector<uint64_t>> counted;
  runtime_.Spawn([=, this] {
    std::vector<uint64_t> bytes;
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(exchange->body().TakePiece(kNoDeadline).ok());
      bytes.push_back(outbox_.memory().buffered());
    }
    counted.Set(bytes);
  });
  EXPECT_EQ(*counted.Wait(nullptr, kNoDeadline), (std::vector<uint64_t>{8, 3, 0}));
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

}  // namespace
}  // namespace agent_graph::bridge

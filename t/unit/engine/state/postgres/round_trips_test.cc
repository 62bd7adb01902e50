// Costs of a host in the database: round trips of a turn, connections.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "../conformance/direct_host.h"
#include "../fixture.h"
#include "host_options.h"
#include "state/postgres/storage.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

// Round trips of each part of a turn.
struct Trips {
  uint64_t begin = UINT64_MAX;
  uint64_t append = UINT64_MAX;
  uint64_t finish = UINT64_MAX;

  bool AreAtMost(uint64_t of_begin) const {
    return begin <= of_begin && append <= 1 && finish <= 1;
  }
};

// Turns after which a test gives up. On any machine, one of so many meets no work in the
// background.
constexpr int kTurnsMax = 2000;

class RoundTripsTest : public postgres::DatabaseTest {
 protected:
  RoundTripsTest() {
    options_ = OptionsOfHost(directory_.path(), url_);
    host_ = std::make_unique<DirectHost>(options_, MakeCountedPostgresStorage(options_, counters_));
    const Status opened = host_->Open();
    EXPECT_TRUE(opened.ok()) << opened.ToString();
    client_ = std::make_unique<Client>(host_->NewChannel(), "postgres", [] {});
    EXPECT_TRUE(client_->Start().ok());
  }
  ~RoundTripsTest() override { client_->Stop(); }

  // Round trips of a call.
  template <typename Call>
  uint64_t Of(Call call) {
    const uint64_t before = counters_->round_trips;
    call();
    return counters_->round_trips - before;
  }

  // Executes a turn and keeps the lower numbers in `trips`.
  void AddTurn(const std::string& thread_id, int number, Trips& trips) {
    const BeginRunRequest run = RunOn(thread_id, "anna");
    Result<BeginRunReply> begun = Status(StatusCode::kInternal, "");
    trips.begin = std::min(trips.begin, Of([&] { begun = client_->BeginRun(run, nullptr); }));
    ASSERT_TRUE(begun.ok()) << begun.status().ToString();
    AppendRunRequest append = AppendOf(run, *begun, {UserMessage(Numbered("a", number))});
    append.entries.push_back({"node_started", "{}", 0});
    append.first_entry = 0;
    trips.append =
        std::min(trips.append, Of([&] { EXPECT_TRUE(client_->AppendRun(append).ok()); }));
    const FinishRunRequest finish = FinishOf(run, *begun);
    trips.finish =
        std::min(trips.finish, Of([&] { EXPECT_TRUE(client_->FinishRun(finish).ok()); }));
  }

  const std::shared_ptr<postgres::ConnectionCounters> counters_ =
      std::make_shared<postgres::ConnectionCounters>();
  TemporaryDirectory directory_;
  StateOptions options_;
  std::unique_ptr<DirectHost> host_;
  std::unique_ptr<Client> client_;
};

// The store also works in the background, so the cheapest of several turns counts.
TEST_F(RoundTripsTest, ATurnOnAThreadThatThisHostKnows) {
  RunTurn(*client_, "t", "anna", {UserMessage("m0")});
  Trips trips;
  for (int i = 0; i < kTurnsMax && !trips.AreAtMost(1); ++i) AddTurn("t", i, trips);
  EXPECT_EQ(trips.begin, 1u);
  EXPECT_EQ(trips.append, 1u);
  EXPECT_EQ(trips.finish, 1u);
}

TEST_F(RoundTripsTest, ATurnOnANewThread) {
  Trips trips;
  for (int i = 0; i < kTurnsMax && !trips.AreAtMost(2); ++i) AddTurn(Numbered("t", i), i, trips);
  EXPECT_EQ(trips.begin, 2u);
  EXPECT_EQ(trips.append, 1u);
  EXPECT_EQ(trips.finish, 1u);
}

// The host does not know the thread, because another transaction has changed it.
TEST_F(RoundTripsTest, ATurnOnAThreadThatOthersHaveChanged) {
  RunTurn(*client_, "t", "anna", {UserMessage("m0")});
  Trips trips;
  for (int i = 0; i < kTurnsMax && !trips.AreAtMost(2); ++i) {
    Run({"UPDATE agent_graph.lease SET version = version + 1"});
    AddTurn("t", i, trips);
  }
  EXPECT_EQ(trips.begin, 2u);
  EXPECT_EQ(trips.append, 1u);
  EXPECT_EQ(trips.finish, 1u);
}

TEST_F(RoundTripsTest, AHostHasFewConnections) {
  RunTurn(*client_, "t", "anna", {UserMessage("m0")});
  EXPECT_TRUE(client_->GetState(Scope::All(), "t").ok());
  const int64_t connections = Number(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
      "pg_backend_pid()");
  EXPECT_LE(connections, 8);
}

TEST_F(RoundTripsTest, TheNextPieceOfAMessageNeedsNone) {
  const BeginRunRequest run = RunOn("t", "anna", "r");
  const Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  WatchRunRequest known;
  known.thread_id = "t";
  known.run_id = "r";
  known.thread_number = begun->thread_number;
  uint64_t trips = UINT64_MAX;
  for (int i = 0; i < kTurnsMax && trips > 0; ++i) {
    PublishPieceRequest publish{
        .thread_id = "t", .run_id = "r", .lease_epoch = begun->lease_epoch, .piece = {}};
    publish.piece = MessagePiece{.message_id = "m",
                                 .node = "MAIN",
                                 .step = 1,
                                 .reasoning_begin = 0,
                                 .text_begin = known.text_bytes,
                                 .reasoning = {},
                                 .text = "word "};
    trips = std::min(trips, Of([&] {
                       EXPECT_TRUE(client_->PublishPiece(publish).ok());
                       const Result<WatchRunReply> reply = client_->WatchRun(known, nullptr);
                       ASSERT_TRUE(reply.ok()) << reply.status().ToString();
                       known.lease_epoch = reply->lease_epoch;
                       known.log_end = reply->log_end;
                       if (!reply->piece) return;
                       known.message_id = reply->piece->message_id;
                       known.text_bytes += reply->piece->text.size();
                     }));
  }
  EXPECT_EQ(trips, 0u);
}

TEST_F(RoundTripsTest, VerifyAsksForManyRowsAtOnce) {
  constexpr int kThreads = 300;
  for (int i = 0; i < kThreads; ++i) {
    RunTurn(*client_, Numbered("t", i), "anna", {UserMessage("m1"), UserMessage("m2")});
  }
  uint64_t trips = UINT64_MAX;
  for (int i = 0; i < 3; ++i) {
    trips = std::min(trips, Of([&] {
                       const Result<VerifyReport> report = client_->Verify();
                       ASSERT_TRUE(report.ok()) << report.status().ToString();
                       EXPECT_EQ(report->threads, static_cast<uint64_t>(kThreads));
                       EXPECT_EQ(report->problem_count, 0u);
                     }));
  }
  EXPECT_LT(trips, static_cast<uint64_t>(kThreads));
}

}  // namespace
}  // namespace agent_graph::state

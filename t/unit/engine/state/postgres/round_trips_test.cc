// Costs of a host in the database: round trips of a turn, connections.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../conformance/direct_host.h"
#include "../fixture.h"
#include "state/postgres/storage.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class RoundTripsTest : public postgres::DatabaseTest {
 protected:
  RoundTripsTest() {
    options_.type = "postgres";
    options_.directory = directory_.path();
    options_.database_url = url_;
    options_.operation_timeout = kPatience;
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

  const std::shared_ptr<postgres::ConnectionCounters> counters_ =
      std::make_shared<postgres::ConnectionCounters>();
  TemporaryDirectory directory_;
  StateOptions options_;
  std::unique_ptr<DirectHost> host_;
  std::unique_ptr<Client> client_;
};

TEST_F(RoundTripsTest, ATurn) {
  RunTurn(*client_, "t", "anna", {UserMessage("m0")});
  const BeginRunRequest run = RunOn("t", "anna");
  BeginRunReply begun;
  const uint64_t begin = Of([&] {
    Result<BeginRunReply> reply = client_->BeginRun(run, nullptr);
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    begun = *std::move(reply);
  });
  AppendRunRequest append = AppendOf(run, begun, {UserMessage("m1")});
  append.entries.push_back({"node_started", "{}", 0});
  append.first_entry = 0;
  const uint64_t appended = Of([&] { EXPECT_TRUE(client_->AppendRun(append).ok()); });
  const uint64_t finish =
      Of([&] { EXPECT_TRUE(client_->FinishRun(FinishOf(run, begun, {UserMessage("m2")})).ok()); });
  std::printf("round trips: begin %llu, append %llu, finish %llu\n",
              static_cast<unsigned long long>(begin), static_cast<unsigned long long>(appended),
              static_cast<unsigned long long>(finish));
  EXPECT_LE(begin, 7u);
  EXPECT_LE(appended, 2u);
  EXPECT_LE(finish, 2u);
}

TEST_F(RoundTripsTest, AHostHasFewConnections) {
  RunTurn(*client_, "t", "anna", {UserMessage("m0")});
  EXPECT_TRUE(client_->GetState(Scope::All(), "t").ok());
  const int64_t connections = Number(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
      "pg_backend_pid()");
  std::printf("connections: %lld\n", static_cast<long long>(connections));
  EXPECT_LE(connections, 8);
}

}  // namespace
}  // namespace agent_graph::state

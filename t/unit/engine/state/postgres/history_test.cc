// A database that has lost what it had acknowledged.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../conformance/direct_host.h"
#include "../fixture.h"
#include "host_options.h"
#include "state/postgres/storage.h"
#include "state/rules/lost_run.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class HistoryTest : public postgres::DatabaseTest {
 protected:
  HistoryTest() {
    options_ = OptionsOfHost(directory_.path(), url_);
    Open();
  }
  ~HistoryTest() override { client_->Stop(); }

  void Open() {
    host_ = std::make_unique<DirectHost>(options_, MakePostgresStorage(options_));
    const Status opened = host_->Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    client_ = std::make_unique<Client>(host_->NewChannel(), "postgres", [] {});
    ASSERT_TRUE(client_->Start().ok());
  }
  // Appends one entry.
  Status Append(const BeginRunRequest& run, const BeginRunReply& begun, uint64_t position) {
    AppendRunRequest append = AppendOf(run, begun, {});
    append.entries.push_back({"node_started", "{}", 0});
    append.first_entry = position;
    append.durable = true;
    return client_->AppendRun(append).status();
  }

  TemporaryDirectory directory_;
  StateOptions options_;
  std::unique_ptr<DirectHost> host_;
  std::unique_ptr<Client> client_;
};

// Simulates a failover to a standby that is behind.
TEST_F(HistoryTest, ARunWhoseEntriesAreMissingEnds) {
  const BeginRunRequest run = RunOn("t", "anna");
  const Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  ASSERT_TRUE(Append(run, *begun, 0).ok());
  Run({"CREATE TABLE earlier AS SELECT * FROM agent_graph.lease"});
  ASSERT_TRUE(Append(run, *begun, 1).ok());
  Run(
      {"UPDATE agent_graph.lease l SET value = e.value, version = e.version FROM earlier e "
       "WHERE e.thread = l.thread"});
  EXPECT_EQ(options_.database_status->acked_lost, 0u);
  EXPECT_EQ(Append(run, *begun, 2).code(), StatusCode::kFenced);
  EXPECT_EQ(options_.database_status->acked_lost, 1u);
  const Result<RunRecord> record = client_->GetRun({Scope::All(), "t", run.run_id});
  ASSERT_TRUE(record.ok()) << record.status().ToString();
  EXPECT_EQ(record->state, RunState::kError);
  EXPECT_EQ(record->reason, kHistoryLost);
  // The thread is free.
  RunTurn(*client_, "t", "anna", {UserMessage("m")});
}

}  // namespace
}  // namespace agent_graph::state

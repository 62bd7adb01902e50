// Import of rows into PostgreSQL.
#include "state/postgres/import/row_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "../test_database.h"
#include "state/pack/fields.h"
#include "state/postgres/cluster/membership.h"
#include "state/postgres/import/imports_finished.h"
#include "state/rows/rows.h"

namespace agent_graph::state::postgres {
namespace {

using testing::HasSubstr;

constexpr uint64_t kThreads = 4500;  // more than two transactions

class RowImportTest : public DatabaseTest {
 protected:
  RowImportTest() {
    Put(keys::Meta(kNextThreadName), uint64_t{9000});
    Put(keys::Meta("owner_epoch"), uint64_t{70});
    Put(keys::Meta(kNextRunOrderName), uint64_t{33});
    for (uint64_t number = 1; number <= kThreads; ++number) {
      ThreadRow thread;
      thread.number = number;
      thread.owner = "alice";
      thread.updated_micros = 1;
      Put(keys::Thread("t" + std::to_string(number)), thread);
    }
    MessageRow message;
    message.id = "m";
    Put(keys::Message({"alice", 1}, 1), message);
    rows_[keys::MessageId({"alice", 1}, "m")] = pack::ToBytes(uint64_t{1});
    LeaseRow lease;
    lease.thread_id = "t1";
    lease.run_id = "r";
    lease.epoch = 71;
    Put(keys::Lease({"alice", 1}), lease);
  }

  template <typename Row>
  void Put(const std::string& key, const Row& row) {
    rows_[key] = pack::ToBytes(row);
  }

  // Adds all rows, or the first `count`.
  static Status Add(RowImport& import, const std::map<std::string, std::string>& rows,
                    size_t count = SIZE_MAX) {
    for (const auto& [key, value] : rows) {
      if (count-- == 0) break;
      AG_RETURN_IF_ERROR(import.Add(key, value));
    }
    return Status::Ok();
  }

  Status ImportAll(const std::string& source = "/state") {
    RowImport import(connection_, source);
    AG_RETURN_IF_ERROR(import.Begin());
    AG_RETURN_IF_ERROR(Add(import, rows_));
    return import.Finish().status();
  }

  // As the version before has left an import that was interrupted.
  void StoreInterrupted(const std::string& source, const std::string& next_key) {
    Run(
        {"INSERT INTO agent_graph.import (source, instance, next_key) "
         "VALUES ($1, gen_random_uuid(), $2)",
         {Value::Text(source), Value::Bytes(next_key)}});
  }

  static uint64_t Stored(const std::vector<ImportedKind>& kinds, const std::string& name) {
    for (const ImportedKind& kind : kinds) {
      if (kind.name == name) return kind.stored;
    }
    return 0;
  }

  std::map<std::string, std::string> rows_;
};

TEST_F(RowImportTest, CopiesRowsAndContinuesTheirNumbers) {
  RowImport import(connection_, "/state");
  ASSERT_TRUE(import.Begin().ok());
  ASSERT_TRUE(Add(import, rows_).ok());
  const auto kinds = import.Finish();
  ASSERT_TRUE(kinds.ok()) << kinds.status().ToString();
  EXPECT_EQ(Stored(*kinds, "threads"), kThreads);
  EXPECT_EQ(Stored(*kinds, "messages"), 1u);
  EXPECT_GT(Number("SELECT nextval('agent_graph.thread_number')"), int64_t{kThreads});
  EXPECT_GT(Number("SELECT nextval('agent_graph.run_order')"), 32);
  EXPECT_GE(Number("SELECT epoch FROM agent_graph.cluster"), 71);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.lease"), int64_t{kThreads})
      << "each thread has a row that writers lock";
}

TEST_F(RowImportTest, LeasesBelongToADeadInstance) {
  RowImport import(connection_, "/state");
  ASSERT_TRUE(import.Begin().ok());
  ASSERT_TRUE(Add(import, rows_).ok());
  ASSERT_TRUE(import.Finish().ok());
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.lease JOIN agent_graph.instance "
                   "ON instance.id = lease.instance WHERE dead AND run_id = 'r'"),
            1);
}

TEST_F(RowImportTest, ContinuesAfterAnInterruption) {
  {
    RowImport import(connection_, "/state");
    ASSERT_TRUE(import.Begin().ok());
    ASSERT_TRUE(Add(import, rows_, 3000).ok());
  }
  const int64_t before = Number("SELECT count(*) FROM agent_graph.thread");
  EXPECT_GT(before, 0);
  EXPECT_LT(before, 3000);
  RowImport import(connection_, "/state");
  ASSERT_TRUE(import.Begin().ok());
  EXPECT_FALSE(import.is_complete());
  ASSERT_TRUE(Add(import, rows_).ok());
  const auto kinds = import.Finish();
  ASSERT_TRUE(kinds.ok()) << kinds.status().ToString();
  EXPECT_EQ(Stored(*kinds, "threads"), kThreads);

  RowImport again(connection_, "/state");
  ASSERT_TRUE(again.Begin().ok());
  EXPECT_TRUE(again.is_complete());
  EXPECT_TRUE(Add(again, rows_).ok());
  EXPECT_TRUE(again.Finish().ok());
}

TEST_F(RowImportTest, RefusesToContinueWithAChangedSource) {
  {
    RowImport import(connection_, "/state");
    ASSERT_TRUE(import.Begin().ok());
    ASSERT_TRUE(Add(import, rows_, 3000).ok());
  }
  // A row that the database has already; the rows behind it are as they were.
  const std::string epoch =
      std::exchange(rows_[keys::Meta("owner_epoch")], pack::ToBytes(uint64_t{71}));
  EXPECT_EQ(ImportAll().code(), StatusCode::kConflict);
  rows_[keys::Meta("owner_epoch")] = epoch;
  const std::string first = rows_.begin()->first;
  const std::string value = rows_.extract(rows_.begin()).mapped();
  EXPECT_EQ(ImportAll().code(), StatusCode::kConflict);
  rows_[first] = value;
  EXPECT_TRUE(ImportAll().ok());
}

TEST_F(RowImportTest, RefusesAChangedSourceOfACompleteImport) {
  ASSERT_TRUE(ImportAll().ok());
  const std::map<std::string, std::string> before = rows_;
  ThreadRow thread;
  thread.number = kThreads + 1;
  // Before the others, and behind all rows.
  for (const std::string& key : {keys::Thread("a"), std::string("\xff")}) {
    rows_ = before;
    Put(key, thread);
    EXPECT_EQ(ImportAll().code(), StatusCode::kConflict);
  }
  rows_ = before;
  rows_.erase(std::prev(rows_.end()));
  EXPECT_EQ(ImportAll().code(), StatusCode::kConflict);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.thread"), int64_t{kThreads});
}

TEST_F(RowImportTest, AcceptsACompleteImportOfAnEarlierVersion) {
  ASSERT_TRUE(ImportAll().ok());
  Run({"UPDATE agent_graph.import SET digest = ''"});
  RowImport again(connection_, "/state");
  ASSERT_TRUE(again.Begin().ok());
  EXPECT_TRUE(again.is_complete());
  EXPECT_TRUE(Add(again, rows_).ok());
  EXPECT_TRUE(again.Finish().ok());
}

TEST_F(RowImportTest, RefusesToContinueAnImportOfAnEarlierVersion) {
  StoreInterrupted("/state", "k");
  const Status refused = ImportAll();
  EXPECT_EQ(refused.code(), StatusCode::kConflict);
  EXPECT_THAT(refused.message(), HasSubstr("an earlier version began this import"));
}

TEST_F(RowImportTest, NoticesRowsThatAreMissing) {
  RowImport import(connection_, "/state");
  ASSERT_TRUE(import.Begin().ok());
  ASSERT_TRUE(Add(import, rows_, 4000).ok());
  Run({"DELETE FROM agent_graph.thread WHERE thread_id = 't1'"});
  ASSERT_TRUE(Add(import, {std::next(rows_.begin(), 4000), rows_.end()}).ok());
  const Status refused = import.Finish().status();
  EXPECT_EQ(refused.code(), StatusCode::kDataLoss);
  EXPECT_THAT(refused.message(), HasSubstr("4500 threads were read, but the database has 4499"));
  EXPECT_EQ(ImportAll().code(), StatusCode::kDataLoss) << "the import is not complete";
}

TEST_F(RowImportTest, RefusesADatabaseOfOthers) {
  RowImport first(connection_, "/state");
  ASSERT_TRUE(first.Begin().ok());
  ASSERT_TRUE(Add(first, rows_).ok());
  ASSERT_TRUE(first.Finish().ok());
  RowImport other(connection_, "/other");
  EXPECT_EQ(other.Begin().code(), StatusCode::kConflict);
}

TEST_F(RowImportTest, KeepsHostsAwayUntilItIsComplete) {
  MembershipOptions options;
  options.database = Options();
  Membership host(options);
  ASSERT_TRUE(host.Join().ok());
  RowImport import(connection_, "/state");
  ASSERT_TRUE(import.Begin().ok());
  ASSERT_TRUE(Add(import, rows_).ok());
  const Result<Membership::News> news = host.Beat();
  ASSERT_TRUE(news.ok()) << news.status().ToString();
  EXPECT_TRUE(news->lost) << "a host that joined before the import writes no more";
  const Status refused = CheckImportsFinished(connection_);
  EXPECT_EQ(refused.code(), StatusCode::kNotConfigured);
  EXPECT_THAT(refused.message(), HasSubstr("the import of /state"));
  ASSERT_TRUE(import.Finish().ok());
  EXPECT_TRUE(CheckImportsFinished(connection_).ok());
}

TEST_F(RowImportTest, FencesNoHostOfADatabaseThatItRefuses) {
  ASSERT_TRUE(ImportAll().ok());
  MembershipOptions options;
  options.database = Options();
  Membership host(options);
  ASSERT_TRUE(host.Join().ok());
  RowImport other(connection_, "/other");
  EXPECT_EQ(other.Begin().code(), StatusCode::kConflict);
  const Result<Membership::News> news = host.Beat();
  ASSERT_TRUE(news.ok()) << news.status().ToString();
  EXPECT_FALSE(news->lost);
}

TEST_F(RowImportTest, LeavesNothingIfItFailsBeforeItsFirstRows) {
  {
    RowImport import(connection_, "/first");
    ASSERT_TRUE(import.Begin().ok());
  }
  EXPECT_TRUE(CheckImportsFinished(connection_).ok());
  ASSERT_TRUE(ImportAll("/second").ok());
  EXPECT_TRUE(CheckImportsFinished(connection_).ok());
  EXPECT_EQ(ImportAll("/first").code(), StatusCode::kConflict);
}

TEST_F(RowImportTest, RefusesADatabaseThatWasFilledSinceItBegan) {
  RowImport import(connection_, "/state");
  ASSERT_TRUE(import.Begin().ok());
  ASSERT_TRUE(ImportAll("/other").ok());
  EXPECT_EQ(Add(import, rows_).code(), StatusCode::kConflict);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.import"), 1);
}

TEST_F(RowImportTest, ReplacesAnImportThatHasWrittenNothing) {
  StoreInterrupted("/first", "");
  StoreInterrupted("/state", "");
  ASSERT_TRUE(ImportAll().ok());
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.import"), 1);
  StoreInterrupted("/first", "");
  EXPECT_EQ(ImportAll("/first").code(), StatusCode::kConflict);
  EXPECT_TRUE(CheckImportsFinished(connection_).ok());
}

TEST_F(RowImportTest, RefusesADatabaseWithRowsOfAnImportThatIsNotComplete) {
  StoreInterrupted("/first", "k");  // such as rows of logs
  EXPECT_EQ(ImportAll().code(), StatusCode::kConflict);
}

TEST_F(RowImportTest, HostsUseADatabaseInSpiteOfAnInterruptedImportOfTheVersionBefore) {
  StoreInterrupted("/state", "k");
  EXPECT_TRUE(CheckImportsFinished(connection_).ok());
}

TEST_F(RowImportTest, RefusesDamagedRows) {
  RowImport import(connection_, "/state");
  ASSERT_TRUE(import.Begin().ok());
  EXPECT_EQ(import.Add(keys::Lease({"alice", 1}), "x").code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace agent_graph::state::postgres

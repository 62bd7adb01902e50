// Deleted data that cannot be read: everything else is still swept.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../requests.h"
#include "state/requests.h"
#include "state/store/store.h"
#include "wrapped_database.h"

namespace agent_graph::state {
namespace {

class DamagedDatabase : public WrappedDatabase {
 public:
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const override {
    if (!damaged.empty() && begin.starts_with(damaged)) return {StatusCode::kDataLoss, "damaged"};
    return WrappedDatabase::Scan(begin, end, row);
  }

  std::string damaged;  // prefix of keys
};

class DamagedSweepTest : public testing::Test {
 protected:
  void SetUp() override { Open(); }
  // Opens the store like a state server that takes over.
  void Open() {
    store_.emplace(database_, StateOptions{.sync = SyncLevel::kNone});
    ASSERT_TRUE(store_->Load().ok());
    ClientHello hello;
    hello.client = "client";
    hello.process = getpid();
    store_->Connect(hello, 1);
  }
  template <typename Body>
  void Apply(Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    const uint64_t sequence = ++sequence_;
    store_->Apply({"client", 1, sequence}, {sequence, 0, operation, 1'000'000}, unpacker);
    Commit();
  }
  void Commit() {
    const Result<std::vector<StoreReply>> replies = store_->Commit();
    ASSERT_TRUE(replies.ok());
    for (const StoreReply& reply : *replies) EXPECT_TRUE(reply.status.ok());
  }
  void SweepAll() {
    for (int portion = 0; store_->wants_sweep(); ++portion) {
      ASSERT_LT(portion, 100);
      store_->Sweep();
      Commit();
    }
  }
  size_t RowsOf(const std::string& prefix) {
    size_t rows = 0;
    EXPECT_TRUE(database_
                    .WrappedDatabase::Scan(prefix, keys::PrefixEnd(prefix),
                                           [&](std::string_view, std::string_view) {
                                             ++rows;
                                             return true;
                                           })
                    .ok());
    return rows;
  }

  DamagedDatabase database_;
  std::optional<Store> store_;
  uint64_t sequence_ = 0;
};

TEST_F(DamagedSweepTest, OneThreadKeepsNoOthers) {
  const keys::ThreadKey first{"", 1};
  const keys::ThreadKey damaged{"", 2};
  const keys::ThreadKey third{"", 3};
  for (const char* thread_id : {"t1", "t2", "t3"}) {
    Apply(Operation::kAppendMessages, MessagesOn(thread_id, "", {UserMessage("m")}));
  }
  Transaction cut(database_);
  cut.PutRow(keys::LogCut({"", 7}), LogCutRow{0, 1});
  cut.PutRow(keys::LogEntry({"", 7}, 0), LogRow{});
  cut.Accept(false);
  ASSERT_TRUE(cut.Commit().ok());
  database_.damaged = keys::ThreadPrefix(keys::Table::kMessage, damaged);
  for (const char* thread_id : {"t2", "t3"}) {
    Apply(Operation::kDeleteThread, ThreadRequest{Scope::All(), thread_id});
  }
  SweepAll();
  EXPECT_EQ(RowsOf(keys::ThreadPrefix(keys::Table::kMessage, damaged)), 1u);
  EXPECT_EQ(RowsOf(keys::ThreadPrefix(keys::Table::kMessage, third)), 0u);
  Apply(Operation::kDeleteThread, ThreadRequest{Scope::All(), "t1"});
  SweepAll();
  EXPECT_EQ(RowsOf(keys::ThreadPrefix(keys::Table::kMessage, first)), 0u);
  EXPECT_EQ(RowsOf(keys::TablePrefix(keys::Table::kLog)), 0u);
  const std::vector<Store::Report> reports = store_->TakeReports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].level, LogLevel::kAlert);
  EXPECT_NE(reports[0].text.find("cannot be read"), std::string::npos);

  // The next state server can read it again.
  database_.damaged.clear();
  Open();
  SweepAll();
  EXPECT_EQ(RowsOf(keys::ThreadPrefix(keys::Table::kMessage, damaged)), 0u);
  EXPECT_EQ(RowsOf(keys::TablePrefix(keys::Table::kDeleted)), 0u);
}

TEST_F(DamagedSweepTest, ACutLogKeepsNoOthers) {
  Transaction cut(database_);
  for (const uint64_t number : {7, 8}) {
    cut.PutRow(keys::LogCut({"", number}), LogCutRow{0, 1});
    cut.PutRow(keys::LogEntry({"", number}, 0), LogRow{});
  }
  cut.Accept(false);
  ASSERT_TRUE(cut.Commit().ok());
  database_.damaged = keys::ThreadPrefix(keys::Table::kLog, {"", 7});
  SweepAll();
  EXPECT_EQ(RowsOf(keys::ThreadPrefix(keys::Table::kLog, {"", 7})), 1u);
  EXPECT_EQ(RowsOf(keys::ThreadPrefix(keys::Table::kLog, {"", 8})), 0u);
  EXPECT_EQ(store_->TakeReports().size(), 1u);
}

}  // namespace
}  // namespace agent_graph::state

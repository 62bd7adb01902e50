// The heads of the listings return the same as the tables after any changes.
#include "state/thread/listing_heads.h"
#include "state/leveldb/database/database.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "../requests.h"
#include "state/requests.h"
#include "state/store/store.h"
#include "state/thread/listing.h"

namespace agent_graph::state {
namespace {

ListThreadsRequest PageOf(const Scope& scope, uint64_t offset, uint64_t limit) {
  return {scope, Page(offset, limit)};
}

class ListingHeadsTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<LevelDatabase>> database = LevelDatabase::OpenMemory();
    ASSERT_TRUE(database.ok());
    database_ = *std::move(database);
    heads_ = std::make_unique<ListingHeads>(*database_);
    store_ = std::make_unique<Store>(*database_, StateOptions{.sync = SyncLevel::kNone});
    ASSERT_TRUE(store_->Load().ok());
    ClientHello hello;
    hello.client = "client";
    hello.process = getpid();
    store_->Connect(hello, 1);
  }

  template <typename Body>
  void Apply(Operation operation, int64_t micros, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    ++sequence_;
    store_->Apply({"client", 1, sequence_}, {sequence_, sequence_, operation, micros}, unpacker);
  }
  void Commit() {
    heads_->CommitBegins();
    ASSERT_TRUE(store_->Commit().ok());
    heads_->CommitEnds(store_->TakeChangedThreads());
  }

  // Makes one random change to one of `threads` threads.
  void ChangeSomething(int threads) {
    const std::string user = Numbered("user", Random(3));
    const std::string thread = user + Numbered("-thread", Random(threads));
    const int64_t micros = 1'000'000 + Random(100'000);
    switch (Random(8)) {
      case 0:
      case 1:
        return Apply(Operation::kDeleteThread, micros, ThreadRequest{Scope::All(), thread});
      case 2:
        return Apply(Operation::kClearState, micros, ThreadRequest{Scope::Owner(user), thread});
      case 3: {
        const BeginRunRequest run = RunOn(thread, user, Numbered("run", Random(1'000'000)));
        Apply(Operation::kBeginRun, micros, run);
        return Apply(Operation::kReleaseRun, micros, ReleaseRunRequest{thread, run.run_id});
      }
      default: {
        AppendMessagesRequest append = MessagesOn(thread, user, {});
        append.metadata_json = R"({"number":)" + std::to_string(Random(1000)) + "}";
        return Apply(Operation::kAppendMessages, micros, append);
      }
    }
  }

  void ExpectEqualPages(const ListThreadsRequest& body) {
    ASSERT_TRUE(ListingHeads::MayHold(body));
    Result<ThreadPage> head = heads_->Read(body);
    Result<ThreadPage> table = ReadThreadPage(DatabaseSnapshot(*database_), body);
    ASSERT_TRUE(head.ok() && table.ok());
    EXPECT_EQ(pack::ToBytes(*head), pack::ToBytes(*table));
  }
  void ExpectEqualListings() {
    for (const Scope& scope :
         {Scope::All(), Scope::Owner("user0"), Scope::Owner("user1"), Scope::Owner("nobody")}) {
      ExpectEqualPages(PageOf(scope, 0, 1));
      ExpectEqualPages(PageOf(scope, 0, 1 + static_cast<uint64_t>(Random(100))));
      ExpectEqualPages(PageOf(scope, static_cast<uint64_t>(Random(50)), 50));
    }
  }

  int Random(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  std::unique_ptr<LevelDatabase> database_;
  std::unique_ptr<ListingHeads> heads_;
  std::unique_ptr<Store> store_;
  uint64_t sequence_ = 0;
  std::mt19937 random_{20};
};

TEST_F(ListingHeadsTest, EqualTheTableAfterRandomOperations) {
  // Fewer threads than a head holds, and more.
  for (int threads : {30, 400}) {
    for (int round = 0; round < 600; ++round) {
      for (int i = Random(20); i >= 0; --i) ChangeSomething(threads);
      Commit();
      ExpectEqualListings();
      ASSERT_FALSE(HasFailure()) << "round " << round;
    }
  }
}

TEST_F(ListingHeadsTest, EqualTheTableAfterReadsAmidCommits) {
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      while (!done) {
        const Scope scope = i == 0 ? Scope::All() : Scope::Owner(Numbered("user", i));
        Result<ThreadPage> page = heads_->Read(PageOf(scope, 0, 100));
        ASSERT_TRUE(page.ok());
        for (size_t row = 1; row < page->threads.size(); ++row) {
          const ThreadRecord& newer = page->threads[row - 1];
          const ThreadRecord& older = page->threads[row];
          ASSERT_NE(newer.thread_id, older.thread_id);
          ASSERT_GE(newer.updated_micros, older.updated_micros);
        }
      }
    });
  }
  for (int round = 0; round < 3000; ++round) {
    for (int i = Random(10); i >= 0; --i) ChangeSomething(150);
    Commit();
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  ExpectEqualListings();
}

TEST_F(ListingHeadsTest, RowsTooLargeToKeepAreReadFromTheTable) {
  for (int i = 0; i < 20; ++i) {
    AppendMessagesRequest append = MessagesOn(Numbered("thread", i), "user0", {});
    append.metadata_json = R"({"large":")" + std::string(200'000, 'x') + R"("})";
    Apply(Operation::kAppendMessages, 1'000'000 + i, append);
  }
  Commit();
  for (uint64_t limit : {1, 4, 19, 20, 21}) {
    ExpectEqualPages(PageOf(Scope::Owner("user0"), 0, limit));
    ExpectEqualPages(PageOf(Scope::All(), 0, limit));
  }
}

TEST_F(ListingHeadsTest, ManyOwnersWithoutThreadsStayWithinTheBound) {
  AppendMessagesRequest append = MessagesOn("thread", "user0", {});
  Apply(Operation::kAppendMessages, 1'000'000, append);
  Commit();
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(heads_->Read(PageOf(Scope::Owner(Numbered("stranger", i)), 0, 10)).ok());
  }
  ExpectEqualListings();
}

}  // namespace
}  // namespace agent_graph::state

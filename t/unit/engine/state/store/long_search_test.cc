// Searches that skip more rows than one page may: they return a cursor to continue.
#include <gtest/gtest.h>
#include <leveldb/write_batch.h>

#include "../requests.h"
#include "state/leveldb/database/database.h"
#include "state/limits.h"
#include "state/store/memories.h"
#include "state/store/reader.h"
#include "state/thread/listing.h"
#include "state/thread/message_read.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {
namespace {

constexpr uint64_t kRows = 2 * kRowsPassedMax + 1000;

bool IsNeedle(uint64_t row) {
  return row == 10 || row == kRowsPassedMax + 10 || row == kRows;
}
std::string Name(uint64_t row) {
  return (IsNeedle(row) ? "needle" : "straw") + std::to_string(row);
}

class LongSearch : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<LevelDatabase>> database = LevelDatabase::OpenMemory();
    ASSERT_TRUE(database.ok());
    database_ = *std::move(database);
  }

  template <typename Row>
  void Fill(Row row) {
    leveldb::WriteBatch batch;
    for (uint64_t i = 1; i <= kRows; ++i) row(batch, i);
    ASSERT_TRUE(database_->Write(batch, false).ok());
  }
  // The names that were found on all pages.
  template <typename Read>
  std::vector<std::string> SearchAll(uint64_t offset, int& pages, Read read) {
    PageRequest request = Page(offset, 2, "NEEDLE");
    std::vector<std::string> found;
    for (pages = 0; pages < 10;) {
      ++pages;
      request.cursor = read(request, found);
      request.offset = 0;
      if (request.cursor.empty()) break;
    }
    return found;
  }

  template <typename Body>
  static Reader::Cost CostOf(Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    return Reader::CostOf(operation, pack::Unpacker(bytes));
  }

  std::unique_ptr<LevelDatabase> database_;
};

TEST_F(LongSearch, ThroughMessagesGoesOnByCursor) {
  const keys::ThreadKey thread{"", 1};
  Fill([&](leveldb::WriteBatch& batch, uint64_t row) {
    const StoredMessage message = UserMessage(std::to_string(row), Name(row));
    batch.Put(keys::Message(thread, row), pack::ToBytes(MessageRow{message.id, message.json}));
  });
  CountersRow counters;
  counters.next_sequence = kRows + 1;
  counters.messages = kRows;
  leveldb::WriteBatch batch;
  batch.Put(keys::Counters(thread), pack::ToBytes(counters));
  ASSERT_TRUE(database_->Write(batch, false).ok());

  const DatabaseSnapshot snapshot(*database_);
  auto read = [&](const PageRequest& request, std::vector<std::string>& found) {
    Result<MessagePage> page = ReadMessages(snapshot, thread, request);
    EXPECT_TRUE(page.ok());
    for (const StoredMessage& message : page->messages) found.push_back(message.id);
    return page->next_cursor;
  };
  int pages = 0;
  const std::vector<std::string> all{"10", std::to_string(kRowsPassedMax + 10),
                                     std::to_string(kRows)};
  EXPECT_EQ(SearchAll(0, pages, read), all);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(SearchAll(2, pages, read), std::vector<std::string>{all[2]})
      << "an offset counts over pages";
}

TEST_F(LongSearch, ThroughLargeMessagesEndsItsPageInTime) {
  constexpr uint64_t kMessages = 100;
  const keys::ThreadKey thread{"", 1};
  const std::string straw(size_t{1024} * 1024, 'x');
  leveldb::WriteBatch batch;
  for (uint64_t i = 1; i <= kMessages; ++i) {
    const StoredMessage message = UserMessage(std::to_string(i), i < kMessages ? straw : "needle");
    batch.Put(keys::Message(thread, i), pack::ToBytes(MessageRow{message.id, message.json}));
  }
  CountersRow counters;
  counters.next_sequence = kMessages + 1;
  counters.messages = kMessages;
  batch.Put(keys::Counters(thread), pack::ToBytes(counters));
  ASSERT_TRUE(database_->Write(batch, false).ok());
  const DatabaseSnapshot snapshot(*database_);
  PageRequest request = Page(0, 10, "NEEDLE");
  const Result<MessagePage> first = ReadMessages(snapshot, thread, request);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->messages.empty());
  ASSERT_FALSE(first->next_cursor.empty());
  request.cursor = first->next_cursor;
  const Result<MessagePage> second = ReadMessages(snapshot, thread, request);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(Ids(second->messages), std::vector<std::string>{"100"});
  EXPECT_TRUE(second->next_cursor.empty());
}

TEST_F(LongSearch, ThroughLargeMemoriesEndsItsPageInTime) {
  constexpr uint64_t kMemories = 100;
  leveldb::WriteBatch batch;
  for (uint64_t i = 1; i <= kMemories; ++i) {
    MemoryRecord record;
    record.id = std::to_string(i);
    record.content = std::string(size_t{1024} * 1024, 'x');
    record.category = i == 1 ? "rare" : "general";
    batch.Put(keys::Memory({"", i}), pack::ToBytes(record));
    batch.Put(keys::MemoryListing(i), "");
  }
  ASSERT_TRUE(database_->Write(batch, false).ok());
  const DatabaseSnapshot snapshot(*database_);
  ListMemoriesRequest list{Scope::All(), {}, 10, ""};
  list.filter.equals = {{"category", R"("rare")"}};
  const Result<MemoryPage> first = ReadMemoryPage(snapshot, list);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_TRUE(first->memories.empty());
  ASSERT_FALSE(first->next_cursor.empty());
  list.cursor = first->next_cursor;
  const Result<MemoryPage> second = ReadMemoryPage(snapshot, list);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->memories.size(), 1u);
  EXPECT_TRUE(second->next_cursor.empty());
}

TEST_F(LongSearch, ThroughThreadsWithLargeMetadataEndsItsPageInTime) {
  constexpr uint64_t kThreads = 25;
  const std::string straw = R"({"text":")" + std::string(size_t{4} * 1000 * 1000, 'x') + R"("})";
  leveldb::WriteBatch batch;
  for (uint64_t i = 1; i <= kThreads; ++i) {
    ThreadRow thread;
    thread.number = i;
    thread.name = i == kThreads ? "needle" : "straw";
    thread.metadata_json = straw;
    // The newest come first.
    thread.created_micros = thread.updated_micros = static_cast<int64_t>(kThreads - i + 1);
    const std::string id = std::to_string(i);
    batch.Put(keys::Thread(id), pack::ToBytes(thread));
    batch.Put(keys::Listing(thread.updated_micros, id), "");
  }
  ASSERT_TRUE(database_->Write(batch, false).ok());
  const DatabaseSnapshot snapshot(*database_);
  PageRequest request = Page(0, 10, "NEEDLE");
  const Result<ThreadPage> first = ReadThreadPage(snapshot, {Scope::All(), request});
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->threads.empty());
  ASSERT_FALSE(first->next_cursor.empty());
  request.cursor = first->next_cursor;
  const Result<ThreadPage> second = ReadThreadPage(snapshot, {Scope::All(), request});
  ASSERT_TRUE(second.ok());
  ASSERT_EQ(second->threads.size(), 1u);
  EXPECT_EQ(second->threads[0].name, "needle");
  EXPECT_TRUE(second->next_cursor.empty());
}

TEST_F(LongSearch, ACursorWithAnOffsetLeftDelaysNoSmallReads) {
  PageRequest request = Page(0);
  auto cost = [&] {
    return CostOf(Operation::kListMessages, ListMessagesRequest{Scope::All(), "t", request});
  };
  EXPECT_EQ(cost(), Reader::Cost::kSmall);
  request.cursor = CursorOfMessage(17);
  EXPECT_EQ(cost(), Reader::Cost::kSmall);
  request.cursor = CursorOfMessage(17, kRowsPassedMax);
  EXPECT_EQ(cost(), Reader::Cost::kRows);
  request.offset = UINT64_MAX;
  EXPECT_EQ(cost(), Reader::Cost::kRows);
  request.cursor = "not one";
  EXPECT_EQ(cost(), Reader::Cost::kSmall);
}

TEST_F(LongSearch, ThroughThreadsGoesOnByCursor) {
  Fill([&](leveldb::WriteBatch& batch, uint64_t row) {
    ThreadRow thread;
    thread.number = row;
    thread.name = Name(row);
    // The newest come first.
    thread.created_micros = thread.updated_micros = static_cast<int64_t>(kRows - row + 1);
    const std::string id = std::to_string(row);
    batch.Put(keys::Thread(id), pack::ToBytes(thread));
    batch.Put(keys::Listing(thread.updated_micros, id), "");
  });
  const DatabaseSnapshot snapshot(*database_);
  auto read = [&](const PageRequest& request, std::vector<std::string>& found) {
    Result<ThreadPage> page = ReadThreadPage(snapshot, {Scope::All(), request});
    EXPECT_TRUE(page.ok());
    for (const ThreadRecord& thread : page->threads) found.push_back(thread.name);
    return page->next_cursor;
  };
  int pages = 0;
  const std::vector<std::string> all{Name(10), Name(kRowsPassedMax + 10), Name(kRows)};
  EXPECT_EQ(SearchAll(0, pages, read), all);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(SearchAll(2, pages, read), std::vector<std::string>{all[2]})
      << "an offset counts over pages";

  // However large an offset is, a page skips a limited number of rows and returns a cursor to
  // continue.
  PageRequest request = Page(kRows - 1, 2);
  std::vector<std::string> last;
  for (pages = 0; pages == 0 || !request.cursor.empty(); ++pages) {
    EXPECT_EQ(CostOf(Operation::kListThreads, ListThreadsRequest{Scope::All(), request}),
              pages < 2 ? Reader::Cost::kRows : Reader::Cost::kSmall);
    request.cursor = read(request, last);
    request.offset = 0;
  }
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(last, std::vector<std::string>{Name(kRows)});
}

}  // namespace
}  // namespace agent_graph::state

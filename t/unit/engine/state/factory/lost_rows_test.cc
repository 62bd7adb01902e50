// Rows that a damaged database has lost: finding them, and restoring them from other rows.
#include <gmock/gmock.h>
#include <leveldb/write_batch.h>

#include "maintenance_fixture.h"
#include "state/requests.h"
#include "state/rows/keys.h"
#include "state/rows/numbering.h"
#include "state/rows/rows.h"

namespace agent_graph::state {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// A run that is in its thread's log.
void LogRun(Client& client, const std::string& thread_id, const std::string& run_id,
            std::vector<StoredMessage> messages) {
  const BeginRunRequest run = RunOn(thread_id, "alice", run_id);
  Result<BeginRunReply> begun = client.BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  FinishRunRequest finish = FinishOf(run, *begun, std::move(messages));
  finish.append.entries.insert(finish.append.entries.begin(),
                               {kRunStarted, R"({"run_id":")" + run_id + "\"}", 0});
  ASSERT_TRUE(client.FinishRun(finish).ok());
}

// One thread with two messages and a run. Tests remove some of its rows.
class LostRows : public MaintenanceTest {
 protected:
  static constexpr char kThread[] = "t";
  const keys::ThreadKey key_{"alice", 1};

  void SetUp() override {
    Serve([](Client& client) {
      LogRun(client, kThread, "first", {UserMessage("m1"), AssistantMessage("m2")});
      ASSERT_TRUE(client.StoreMemory(MemoryOf("tea", "drinks tea")).ok());
    });
    ASSERT_THAT(Problems(), IsEmpty());
  }

  void Write(leveldb::WriteBatch batch) {
    Open([&](LevelDatabase& database) { ASSERT_TRUE(database.Write(batch, true).ok()); });
  }
  keys::ThreadKey KeyOf(const std::string& thread_id) {
    keys::ThreadKey key;
    Open([&](const LevelDatabase& database) {
      const Result<std::optional<std::string>> bytes = database.Get(keys::Thread(thread_id));
      ThreadRow row;
      ASSERT_TRUE(bytes.ok() && *bytes && pack::FromBytes(**bytes, row));
      key = row.key();
    });
    return key;
  }
  void Lose(const std::string& key) {
    leveldb::WriteBatch batch;
    batch.Delete(key);
    Write(batch);
  }
  template <typename Row>
  void Put(const std::string& key, const Row& row) {
    leveldb::WriteBatch batch;
    batch.Put(key, pack::ToBytes(row));
    Write(batch);
  }
  bool Has(const std::string& key) {
    bool has = false;
    Open([&](LevelDatabase& database) {
      const auto row = database.Get(key);
      has = row.ok() && *row;
    });
    return has;
  }
  // Expects only problems of this kind, and none after a repair.
  void ExpectMended(const char* what) {
    EXPECT_THAT(Problems(), AllOf(Not(IsEmpty()), Each(HasSubstr(what))));
    ASSERT_TRUE(Repair(database_path()).ok());
    EXPECT_THAT(Problems(), IsEmpty());
  }
  static std::vector<std::string> Messages(Client& client) {
    Result<MessagePage> page = client.ListMessages(Scope::All(), kThread, Page(0));
    EXPECT_TRUE(page.ok());
    return page.ok() ? Ids(page->messages) : std::vector<std::string>();
  }
  static std::vector<std::string> Window(Client& client) {
    Result<ThreadState> state = client.GetState(Scope::All(), kThread);
    EXPECT_TRUE(state.ok());
    return state.ok() ? Ids(state->window) : std::vector<std::string>();
  }
  // Expects that new rows do not overwrite existing ones.
  void ExpectGoesOn() {
    Serve([](Client& client) {
      EXPECT_THAT(Messages(client), ElementsAre("m1", "m2"));
      LogRun(client, kThread, "second", {UserMessage("m3")});
      EXPECT_THAT(Messages(client), ElementsAre("m1", "m2", "m3"));
      EXPECT_THAT(Window(client), ElementsAre("m1", "m2", "m3"));
      Result<StoredMessage> third = client.GetMessage(Scope::All(), kThread, "m3");
      ASSERT_TRUE(third.ok());
      EXPECT_EQ(third->sequence, 3u);
      Result<RunTraces> traces = client.ReadRuns({Scope::All(), kThread, "first"});
      ASSERT_TRUE(traces.ok());
      EXPECT_THAT(traces->run_ids, ElementsAre("first", "second"));
      EXPECT_THAT(traces->entries, SizeIs(2));
    });
  }
};

TEST_F(LostRows, Counters) {
  Lose(keys::Counters(key_));
  ExpectMended("numbers that are in use");
  ExpectGoesOn();
}

TEST_F(LostRows, CountersThatAreBackFromBefore) {
  CountersRow counters;
  counters.next_sequence = 2;
  counters.messages = 1;
  counters.next_log_index = 1;
  counters.log_marks = {0, 40};
  counters.log_is_cut = true;
  Put(keys::Counters(key_), counters);
  ExpectMended("numbers that are in use");
  ExpectGoesOn();
}

TEST_F(LostRows, CountersAndMessages) {
  Lose(keys::Counters(key_));
  Lose(keys::Message(key_, 2));
  Lose(keys::MessageId(key_, "m2"));
  // The window still shows that there was a second message.
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_THAT(Problems(), IsEmpty());
  Serve([](Client& client) {
    RunTurn(client, kThread, "alice", {UserMessage("m3")});
    EXPECT_THAT(Messages(client), ElementsAre("m1", "m3"));
    EXPECT_EQ(client.GetMessage(Scope::All(), kThread, "m3")->sequence, 3u);
    Result<MessagePage> last = client.ListMessages(Scope::All(), kThread, Page(1));
    EXPECT_THAT(Ids(last->messages), ElementsAre("m3"));
  });
}

// A new row with an index in the range that is to be cut off would be deleted with it.
TEST_F(LostRows, CountersOfALogThatIsBeingCut) {
  Lose(keys::Counters(key_));
  Put(keys::LogCut(key_), LogCutRow{0, 100});
  ExpectMended("numbers that are in use");
  Serve([](Client& client) {
    LogRun(client, kThread, "second", {});
    Result<RunTraces> traces = client.ReadRuns({Scope::All(), kThread, "second"});
    ASSERT_TRUE(traces.ok());
    EXPECT_THAT(traces->entries, SizeIs(2));
  });
}

TEST_F(LostRows, IdsOfMessages) {
  Lose(keys::MessageId(key_, "m1"));
  ExpectMended("the message is not found by its id");
  Serve([](Client& client) {
    EXPECT_TRUE(client.GetMessage(Scope::All(), kThread, "m1").ok());
    ASSERT_TRUE(client.AppendMessages(MessagesOn(kThread, "alice", {UserMessage("m1")})).ok());
    EXPECT_THAT(Messages(client), ElementsAre("m1", "m2"));
    EXPECT_TRUE(client.DeleteMessage(Scope::All(), kThread, "m1").ok());
    EXPECT_THAT(Messages(client), ElementsAre("m2"));
  });
}

// Two messages with the same id are two messages, and either one may be found by it.
TEST_F(LostRows, IdsOfMessagesThatWereSentAgain) {
  Lose(keys::MessageId(key_, "m2"));
  Serve([](Client& client) {
    ASSERT_TRUE(client.AppendMessages(MessagesOn(kThread, "alice", {AssistantMessage("m2")})).ok());
  });
  EXPECT_THAT(Problems(), IsEmpty());
  Lose(keys::MessageId(key_, "m2"));
  ExpectMended("the message is not found by its id");
  Serve([](Client& client) { EXPECT_THAT(Messages(client), ElementsAre("m1", "m2", "m2")); });
}

TEST_F(LostRows, Messages) {
  Lose(keys::Message(key_, 1));
  EXPECT_THAT(Problems(),
              UnorderedElementsAre(HasSubstr("an id names a message that is not there"),
                                   HasSubstr("the window names a message that is not there"),
                                   HasSubstr("the counters of the thread are wrong")));
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_THAT(Problems(), IsEmpty());
  Serve([](Client& client) {
    EXPECT_EQ(client.GetMessage(Scope::All(), kThread, "m1").status().code(),
              StatusCode::kNotFound);
    // It can be sent again.
    ASSERT_TRUE(client.AppendMessages(MessagesOn(kThread, "alice", {UserMessage("m1")})).ok());
    EXPECT_THAT(Messages(client), ElementsAre("m2", "m1"));
  });
}

TEST_F(LostRows, Window) {
  Lose(keys::Window(key_));
  ExpectMended("the thread has no window");
  Serve([](Client& client) { EXPECT_THAT(Window(client), ElementsAre("m1", "m2")); });
  ExpectGoesOn();
}

TEST_F(LostRows, Record) {
  Lose(keys::Thread(kThread));
  EXPECT_THAT(Problems(),
              UnorderedElementsAre(HasSubstr("a listing differs"), HasSubstr("a listing differs"),
                                   HasSubstr("the thread has rows but no record")));
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_THAT(Problems(), IsEmpty());
  Serve([](Client& client) {
    LogRun(client, kThread, "second", {UserMessage("m3")});
    EXPECT_THAT(Messages(client), ElementsAre("m3"));
  });
}

TEST_F(LostRows, Listings) {
  int64_t updated = 0;
  Serve([&](Client& client) { updated = client.GetThread(Scope::All(), kThread)->updated_micros; });
  Lose(keys::Listing(updated, kThread));
  Lose(keys::ListingByOwner("alice", updated, kThread));
  ExpectMended("a listing lacks a thread");
  EXPECT_TRUE(Has(keys::Listing(updated, kThread)));
  EXPECT_TRUE(Has(keys::ListingByOwner("alice", updated, kThread)));
}

// If the lost rows included a deletion, the repair must not restore the thread.
TEST_F(LostRows, DeletionOfARecord) {
  Put(keys::Deleted(key_), std::string());
  EXPECT_THAT(Problems(), Contains(HasSubstr("the thread was deleted")));
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_THAT(Problems(), IsEmpty());
  Serve([](Client& client) {
    EXPECT_EQ(client.GetThread(Scope::All(), kThread).status().code(), StatusCode::kNotFound);
    Result<ThreadPage> threads = client.ListThreads(Scope::All(), Page(0));
    ASSERT_TRUE(threads.ok());
    EXPECT_THAT(threads->threads, IsEmpty());
  });
}

TEST_F(LostRows, MarkOfWhatWasCutOff) {
  CountersRow counters;
  counters.next_sequence = 3;
  counters.messages = 2;
  counters.next_log_index = 3;
  counters.log_marks = {2};
  counters.log_is_cut = true;
  Put(keys::Counters(key_), counters);
  ExpectMended("entries that were cut off the log are still stored");
  EXPECT_TRUE(Has(keys::LogCut(key_)));
}

TEST_F(LostRows, OfMemories) {
  const MemoryKey tea{"alice", 1};
  Lose(keys::MemoryPlace("tea"));
  ExpectMended("the memory is not found by its id");
  Lose(keys::MemoryListing(tea.number));
  ExpectMended("the memory is in no listing");
  Put(keys::MemoryVector({"alice", 7}), Embedding{"space", "1234"});
  Put(keys::Meta(kNextMemoryName), uint64_t{8});
  ExpectMended("a vector is of a memory that is not there");
  Lose(keys::Memory(tea));
  EXPECT_THAT(Problems(), UnorderedElementsAre(HasSubstr("an id names a memory"),
                                               HasSubstr("a listing names a memory")));
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_THAT(Problems(), IsEmpty());
  Serve([](Client& client) {
    Result<MemoryPage> page = client.ListMemories(ListMemoriesRequest{Scope::All(), {}, 100, ""});
    ASSERT_TRUE(page.ok());
    EXPECT_THAT(page->memories, IsEmpty());
  });
}

// A memory that cannot be read is removed together with its vector.
TEST_F(LostRows, UnreadableMemory) {
  const MemoryKey tea{"alice", 1};
  Put(keys::MemoryVector(tea), Embedding{"space", "1234"});
  ASSERT_THAT(Problems(), IsEmpty());
  leveldb::WriteBatch batch;
  batch.Put(keys::Memory(tea), "x");
  Write(batch);
  EXPECT_THAT(Problems(), Contains(HasSubstr("the row cannot be read")));
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_FALSE(Has(keys::MemoryVector(tea)));
}

// Unreadable rows are removed and do not make their thread or the state unusable.
TEST_F(LostRows, UnreadableOnes) {
  leveldb::WriteBatch batch;
  for (const std::string& key :
       {keys::Counters(key_), keys::Snapshot(key_), keys::Window(key_), keys::Lease(key_),
        keys::LogCut(key_), keys::Message(key_, 3), keys::MessageId(key_, "m4"),
        keys::LogEntry(key_, 2), keys::Reply("client", 1), keys::Meta(kRemoteToolsName),
        keys::MemoryVector({"alice", 1})}) {
    batch.Put(key, "\xff");
  }
  Write(batch);
  EXPECT_THAT(Problems(), Contains(HasSubstr("the row cannot be read")).Times(11));
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_THAT(Problems(), IsEmpty());
  Serve([](Client& client) {
    EXPECT_THAT(Messages(client), ElementsAre("m1", "m2"));
    EXPECT_THAT(Window(client), ElementsAre("m1", "m2"));
    LogRun(client, kThread, "second", {UserMessage("m5")});
    EXPECT_THAT(Messages(client), ElementsAre("m1", "m2", "m5"));
  });
}

// Intact threads are distinguished from their neighbours, also while one is being deleted.
TEST_F(LostRows, OfOneAmongMany) {
  Serve([](Client& client) {
    for (int i = 0; i < 40; ++i) {
      RunTurn(client, Numbered("other", i), i % 2 == 0 ? "alice" : std::string("al\0ice", 6),
              {UserMessage("m1"), UserMessage("m2")});
    }
    ASSERT_TRUE(client.DeleteThread(Scope::All(), "other7").ok());
  });
  EXPECT_THAT(Problems(), IsEmpty());
  Lose(keys::Counters(KeyOf("other10")));
  Lose(keys::MessageId(key_, "m1"));
  EXPECT_THAT(Problems(), SizeIs(2));
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_THAT(Problems(), IsEmpty());
}

}  // namespace
}  // namespace agent_graph::state

// Tests which threads are small enough for the write thread to load them itself.
#include "state/store/reader.h"

#include <string>
#include <utility>
#include <vector>

#include "store_fixture.h"

namespace agent_graph::state {
namespace {

class ReaderTest : public StoreTest {
 protected:
  void AppendMessages(uint64_t sequence, int count) {
    std::vector<StoredMessage> messages;
    messages.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) messages.push_back(UserMessage(Numbered("m", i)));
    Apply(sequence, Operation::kAppendMessages, MessagesOn("t", "", std::move(messages)));
  }
  void PutFields(uint64_t sequence, size_t bytes) {
    PutStateRequest put = PutOn("t", "");
    put.fields_json = R"({"text":")" + std::string(bytes, 'x') + R"("})";
    Apply(sequence, Operation::kPutState, put);
  }
  // The reply to a run that begins on the thread.
  ReplyRow Begin(uint64_t sequence, std::optional<KnownWindow> known = {}) {
    BeginRunRequest run = RunOn("t", "", "run");
    run.known_window = std::move(known);
    Apply(sequence, Operation::kBeginRun, run);
    const std::vector<StoreReply> replies = Commit();
    EXPECT_TRUE(replies.back().status.ok());
    return replies.back().reply;
  }
  std::optional<Result<std::string>> LoadIfLittle(const ReplyRow& reply) {
    ListingHeads heads(*database_);
    const StoredMemoryRows memory_rows(*database_);
    MemoryIndex memories(memory_rows, "", 0);
    const Reader reader(*database_, heads, memories, "", store_->longest_wait_micros());
    std::optional<Result<std::string>> little = reader.LoadIfLittle(reply);
    if (little && little->ok()) {
      const Result<std::string> whole = reader.Load(reply);
      EXPECT_TRUE(whole.ok());
      EXPECT_EQ(**little, *whole);
    }
    return little;
  }
};

TEST_F(ReaderTest, AShortThreadIsLittle) {
  AppendMessages(1, 3);
  const auto loaded = LoadIfLittle(Begin(2));
  ASSERT_TRUE(loaded && loaded->ok());
  BeginRunReply begun;
  ASSERT_TRUE(pack::FromBytes(**loaded, begun));
  EXPECT_EQ(Ids(begun.state.window), (std::vector<std::string>{"m0", "m1", "m2"}));
}

TEST_F(ReaderTest, AWholeWindowIsNot) {
  AppendMessages(1, 90);
  EXPECT_FALSE(LoadIfLittle(Begin(2)));
}

TEST_F(ReaderTest, AWholeWindowIsLittleForTheClientThatHasIt) {
  AppendMessages(1, 90);
  KnownWindow known{.thread_number = 1, .version = 1, .through = 90, .message_id = "m89"};
  const auto loaded = LoadIfLittle(Begin(2, known));
  ASSERT_TRUE(loaded && loaded->ok());
  BeginRunReply begun;
  ASSERT_TRUE(pack::FromBytes(**loaded, begun));
  EXPECT_TRUE(begun.window_is_partial);
  EXPECT_EQ(begun.window_sequences.size(), 90u);
  EXPECT_EQ(begun.state.window.size(), 0u);
}

TEST_F(ReaderTest, LargeMessagesAreNot) {
  Apply(1, Operation::kAppendMessages,
        MessagesOn("t", "", {UserMessage("m", std::string(size_t{300} * 1024, 'x'))}));
  EXPECT_FALSE(LoadIfLittle(Begin(2)));
}

TEST_F(ReaderTest, LargeFieldsAreNotLittle) {
  AppendMessages(1, 1);
  PutFields(2, size_t{100} * 1024);
  EXPECT_FALSE(LoadIfLittle(Begin(3)));
}

TEST_F(ReaderTest, AThreadOfSomebodyElseIsNotLoaded) {
  AppendMessages(1, 1);
  ReplyRow begun = Begin(2);
  begun.thread_number += 1;
  const auto loaded = LoadIfLittle(begun);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->status().code(), StatusCode::kFenced);
}

}  // namespace
}  // namespace agent_graph::state

// Windows that a worker keeps between the runs of a thread, and how they complete a reply.
#include "run/context/window_cache.h"

#include <gmock/gmock.h>

#include "base/json_weight.h"
#include "message/codec.h"

namespace agent_graph::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kBytesMax = 1024 * 1024;

state::StoredMessage Stored(const std::string& id, uint64_t sequence, const std::string& text) {
  Message message = Message::User(text);
  message.id = id;
  message.timestamp = 1;
  return {id, sequence, message::ToJsonText(message)};
}

void Add(DecodedWindow& window, const std::string& id, uint64_t sequence,
         const std::string& text = "text") {
  window.stored.push_back(Stored(id, sequence, text));
  window.messages.push_back(*message::FromJsonText(window.stored.back().json));
}

// Messages 1 and 2, and "own", whose sequence number is not known yet.
DecodedWindow WindowOf(uint64_t thread_number = 7) {
  DecodedWindow window{.thread_number = thread_number, .version = 1};
  Add(window, "m1", 1);
  Add(window, "m2", 2);
  Add(window, "own", 0);
  return window;
}

state::BeginRunReply PartialReply(std::vector<uint64_t> sequences,
                                  std::vector<state::StoredMessage> fresh = {}) {
  state::BeginRunReply reply;
  reply.thread_number = 7;
  reply.window_version = 1;
  reply.known_through = 2;
  reply.window_is_partial = true;
  reply.window_sequences = std::move(sequences);
  reply.state.window = std::move(fresh);
  return reply;
}

class WindowCacheTest : public testing::Test {
 protected:
  // The texts of the completed window; they must be those of its decoded messages.
  std::vector<std::string> Complete(state::BeginRunReply& reply,
                                    DecodedWindow window = WindowOf()) {
    Result<std::vector<Message>> messages = CompleteWindow(std::move(window), reply);
    EXPECT_TRUE(messages.ok()) << messages.status().ToString();
    std::vector<std::string> ids;
    if (!messages.ok()) return ids;
    EXPECT_EQ(messages->size(), reply.state.window.size());
    for (size_t i = 0; i < messages->size(); ++i) {
      EXPECT_EQ(message::ToJsonText((*messages)[i]), reply.state.window[i].json);
      ids.push_back(reply.state.window[i].id);
    }
    return ids;
  }
  int64_t counted_ = 0;
  WindowCache cache_{kBytesMax, [this](int64_t bytes) { counted_ += bytes; }};
};

TEST_F(WindowCacheTest, NamesTheNewestMessageThatHasANumber) {
  EXPECT_FALSE(cache_.Find("t"));
  cache_.Keep("t", WindowOf());
  const std::optional<state::KnownWindow> known = cache_.Find("t");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->thread_number, 7u);
  EXPECT_EQ(known->version, 1u);
  EXPECT_EQ(known->through, 2u);
  EXPECT_EQ(known->message_id, "m2");
}

TEST_F(WindowCacheTest, OneRunTakesTheWindowAndItsNameStays) {
  cache_.Keep("t", WindowOf());
  EXPECT_GT(counted_, 0);
  ASSERT_TRUE(cache_.Take("t"));
  EXPECT_EQ(counted_, 0);
  EXPECT_FALSE(cache_.Take("t"));
  EXPECT_TRUE(cache_.Find("t"));
}

TEST_F(WindowCacheTest, WindowsThatCannotBeRecognisedAreNotKept) {
  DecodedWindow unversioned = WindowOf();
  unversioned.version = 0;
  cache_.Keep("t", std::move(unversioned));
  EXPECT_FALSE(cache_.Find("t"));
  DecodedWindow unnumbered{.thread_number = 7, .version = 1};
  Add(unnumbered, "own", 0);
  cache_.Keep("t", std::move(unnumbered));
  EXPECT_FALSE(cache_.Find("t"));
  EXPECT_EQ(counted_, 0);
}

TEST_F(WindowCacheTest, ALargeWindowReplacesNothingButIsForgotten) {
  cache_.Keep("t", WindowOf());
  DecodedWindow large = WindowOf();
  Add(large, "large", 3, std::string(kBytesMax, 'x'));
  cache_.Keep("t", std::move(large));
  EXPECT_FALSE(cache_.Find("t"));
  EXPECT_EQ(counted_, 0);
}

TEST_F(WindowCacheTest, TheLeastRecentlyUsedWindowsMakeRoom) {
  const std::string text(10'000, 'x');
  for (int i = 0; i < 1000; ++i) {
    DecodedWindow window{.thread_number = 7, .version = 1};
    Add(window, "m1", 1, text);
    cache_.Keep("t" + std::to_string(i), std::move(window));
    EXPECT_TRUE(cache_.Find("t0")) << i;
    EXPECT_LE(counted_, static_cast<int64_t>(kBytesMax));
  }
  EXPECT_FALSE(cache_.Find("t1"));
  EXPECT_TRUE(cache_.Find("t999"));
}

TEST_F(WindowCacheTest, ForgetsOneThreadOrAll) {
  cache_.Keep("t1", WindowOf());
  cache_.Keep("t2", WindowOf());
  cache_.Forget("t1");
  EXPECT_FALSE(cache_.Find("t1"));
  EXPECT_TRUE(cache_.Find("t2"));
  cache_.Clear();
  EXPECT_FALSE(cache_.Find("t2"));
  EXPECT_EQ(counted_, 0);
}

TEST_F(WindowCacheTest, CompletesAReplyWithoutNewMessages) {
  state::BeginRunReply reply = PartialReply({1, 2});
  EXPECT_THAT(Complete(reply), ElementsAre("m1", "m2"));
}

TEST_F(WindowCacheTest, AMessageOfTheLastRunGetsItsNumber) {
  state::BeginRunReply reply = PartialReply({1, 2, 3}, {Stored("own", 3, "text")});
  EXPECT_THAT(Complete(reply), ElementsAre("m1", "m2", "own"));
  EXPECT_EQ(reply.state.window.back().sequence, 3u);
}

TEST_F(WindowCacheTest, TheStoredTextOfAMessageCounts) {
  state::BeginRunReply reply = PartialReply({1, 3}, {Stored("own", 3, "another text")});
  EXPECT_THAT(Complete(reply), ElementsAre("m1", "own"));
  EXPECT_EQ(reply.state.window.back().json, Stored("own", 3, "another text").json);
}

TEST_F(WindowCacheTest, MessagesOfOthersStandAmongThoseOfTheLastRun) {
  state::BeginRunReply reply = PartialReply(
      {2, 3, 4, 5}, {Stored("x", 3, "x"), Stored("own", 4, "text"), Stored("y", 5, "y")});
  EXPECT_THAT(Complete(reply), ElementsAre("m2", "x", "own", "y"));
}

TEST_F(WindowCacheTest, ANewerWindowThanTheOneThatWasNamedCompletesItToo) {
  DecodedWindow newer = WindowOf();
  newer.stored.back().sequence = 3;
  state::BeginRunReply reply = PartialReply({1, 2, 3}, {Stored("own", 3, "text")});
  EXPECT_THAT(Complete(reply, std::move(newer)), ElementsAre("m1", "m2", "own"));
}

TEST_F(WindowCacheTest, AWindowThatLacksAMessageDoesNotCompleteIt) {
  DecodedWindow window = WindowOf();
  window.stored.erase(window.stored.begin());
  window.messages.erase(window.messages.begin());
  state::BeginRunReply reply = PartialReply({1, 2});
  EXPECT_EQ(CompleteWindow(std::move(window), reply).status().code(), StatusCode::kNotFound);
  state::BeginRunReply unsent = PartialReply({1, 2, 3});
  EXPECT_EQ(CompleteWindow(WindowOf(), unsent).status().code(), StatusCode::kNotFound);
}

// The state server can take it for known that this worker has numbered its own message by now.
TEST_F(WindowCacheTest, AMessageWithoutItsNumberDoesNotCompleteIt) {
  state::BeginRunReply reply = PartialReply({1, 2, 3});
  reply.known_through = 3;
  EXPECT_EQ(CompleteWindow(WindowOf(), reply).status().code(), StatusCode::kNotFound);
}

TEST_F(WindowCacheTest, AWindowOfAnotherThreadOrVersionDoesNotCompleteIt) {
  state::BeginRunReply reply = PartialReply({1, 2});
  EXPECT_EQ(CompleteWindow(WindowOf(8), reply).status().code(), StatusCode::kNotFound);
  reply.window_version = 2;
  EXPECT_EQ(CompleteWindow(WindowOf(), reply).status().code(), StatusCode::kNotFound);
}

TEST_F(WindowCacheTest, AnOlderServerDoesNotSayWhatIsKnown) {
  state::BeginRunReply reply = PartialReply({1, 2});
  reply.known_through = 0;
  EXPECT_EQ(CompleteWindow(WindowOf(), reply).status().code(), StatusCode::kNotFound);
}

TEST_F(WindowCacheTest, AnEmptyWindowIsComplete) {
  state::BeginRunReply reply = PartialReply({});
  EXPECT_THAT(Complete(reply), IsEmpty());
}

}  // namespace
}  // namespace agent_graph::run

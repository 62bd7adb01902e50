// Windows that are larger than a reply may be: only their newest messages are read.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "state/limits.h"
#include "store_fixture.h"

namespace agent_graph::state {
namespace {

constexpr size_t kMessageBytes = 1024 * 1024;
constexpr int kMessages = 100;

// Counts the bytes of the rows that are read.
class CountingView : public DatabaseView {
 public:
  CountingView(std::unique_ptr<DatabaseView> view, size_t& bytes)
      : view_(std::move(view)), bytes_(bytes) {}

  Result<std::optional<std::string>> Get(const std::string& key) const override {
    Result<std::optional<std::string>> value = view_->Get(key);
    if (value.ok() && *value) bytes_ += (*value)->size();
    return value;
  }
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const override {
    return view_->Scan(begin, end, Counting(row));
  }
  Status ScanBackwards(const std::string& begin, const std::string& end,
                       const RowUse& row) const override {
    return view_->ScanBackwards(begin, end, Counting(row));
  }
  std::unique_ptr<RowCursor> NewCursor(const std::string& begin, std::string end) const override {
    return view_->NewCursor(begin, std::move(end));
  }

 private:
  RowUse Counting(const RowUse& row) const {
    return [this, &row](std::string_view key, std::string_view value) {
      bytes_ += value.size();
      return row(key, value);
    };
  }

  const std::unique_ptr<DatabaseView> view_;
  size_t& bytes_;
};

class LargeWindowTest : public StoreTest {
 protected:
  void Append(const StoredMessage& message) {
    Apply(++sequence_, Operation::kAppendMessages, MessagesOn("t", "", {message}));
    for (const StoreReply& reply : Commit()) EXPECT_TRUE(reply.status.ok());
  }
  void Fill() {
    const std::string text(kMessageBytes, 'x');
    for (int i = 0; i < kMessages; ++i) Append(UserMessage(Numbered("m", i), text));
  }
  std::vector<std::string> ReadIds() {
    const DatabaseSnapshot snapshot(
        std::make_unique<CountingView>(database_->TakeView(), bytes_read_));
    const Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), "t");
    EXPECT_TRUE(thread.ok());
    const Result<ThreadState> state = ReadState(snapshot, "t", *thread);
    EXPECT_TRUE(state.ok()) << state.status().ToString();
    return state.ok() ? Ids(state->window) : std::vector<std::string>();
  }
  void ExpectNewest(const std::vector<std::string>& ids, int last) {
    ASSERT_FALSE(ids.empty());
    EXPECT_EQ(ids.size(), kWindowBytesMax / kMessageBytes - 1);  // a message has more than its text
    EXPECT_EQ(ids.back(), Numbered("m", last));
    EXPECT_EQ(ids.front(), Numbered("m", last + 1 - static_cast<int>(ids.size())));
  }

  uint64_t sequence_ = 0;
  size_t bytes_read_ = 0;
};

TEST_F(LargeWindowTest, OnlyItsNewestMessagesAreRead) {
  Fill();
  ExpectNewest(ReadIds(), kMessages - 1);
  // Once from the front, and once from the back.
  EXPECT_LT(bytes_read_, 2 * (kWindowBytesMax + 2 * kMessageBytes));
}

TEST_F(LargeWindowTest, AlsoIfItHasGaps) {
  Append(UserMessage("first"));
  for (int i = 0; i < 1000; ++i) Append(UserMessage("gap" + std::to_string(i)));
  Fill();
  for (int i = 0; i < 1000; ++i) {
    Apply(++sequence_, Operation::kDeleteMessage,
          MessageRequest{Scope::All(), "t", "gap" + std::to_string(i)});
  }
  Commit();
  ExpectNewest(ReadIds(), kMessages - 1);
  EXPECT_LT(bytes_read_, 2 * (kWindowBytesMax + 2 * kMessageBytes));
}

}  // namespace
}  // namespace agent_graph::state

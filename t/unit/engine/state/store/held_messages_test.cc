// Messages wait for the fsync of what they acknowledge, in the order that clients rely on.
#include "state/store/held_messages.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"

namespace agent_graph::state {
namespace {

class RecordingConnection : public ClientConnection {
 public:
  explicit RecordingConnection(uint64_t id) : id_(id) {}

  uint64_t id() const override { return id_; }
  void SendAll(std::vector<ClientMessage> messages) override {
    MutexLock lock(mutex_);
    for (ClientMessage& message : messages) sent_.push_back(std::move(message));
  }
  void Executed(size_t bytes) override {
    MutexLock lock(mutex_);
    executed_ += bytes;
  }

  std::vector<ClientMessage> sent() {
    MutexLock lock(mutex_);
    return sent_;
  }
  size_t executed() {
    MutexLock lock(mutex_);
    return executed_;
  }

 private:
  const uint64_t id_;
  Mutex mutex_;
  std::vector<ClientMessage> sent_ AG_GUARDED_BY(mutex_);
  size_t executed_ AG_GUARDED_BY(mutex_) = 0;
};

class HeldMessagesTest : public testing::Test {
 protected:
  // The first sync waits until FinishSync is called.
  Status Sync() {
    if (syncs_++ > 0) return Status::Ok();
    began_.set_value();
    return finish_.get_future().get();
  }
  void AwaitSync() { began_.get_future().wait(); }
  void FinishSync(Status status) { finish_.set_value(std::move(status)); }

  void Write(std::vector<HeldMessages::Item> items) {
    held_.ExpectWrite();
    held_.NoteWritten(std::move(items));
  }
  HeldMessages::Item ReplyTo(uint64_t sequence) {
    return {.connection = connection_, .message = Reply{sequence, Status::Ok(), "stored"}};
  }
  HeldMessages::Item Notice() {
    return {.connection = connection_, .message = CancelRun{"t", "r"}, .is_ordered = true};
  }

  std::shared_ptr<RecordingConnection> connection_ = std::make_shared<RecordingConnection>(7);
  int syncs_ = 0;  // the thread that syncs; read after Stop
  std::promise<void> began_;
  std::promise<Status> finish_;
  std::vector<std::string> failures_;
  HeldMessages held_{[this] { return Sync(); },
                     [this](const Status& failure) { failures_.push_back(failure.ToString()); }};
};

TEST_F(HeldMessagesTest, AMessageIsSentWhenItsChangesAreOnTheDisk) {
  EXPECT_FALSE(held_.is_behind());
  ASSERT_TRUE(held_.Start().ok());
  Write({ReplyTo(1)});
  AwaitSync();
  EXPECT_TRUE(held_.is_behind());
  EXPECT_TRUE(connection_->sent().empty());
  FinishSync(Status::Ok());
  held_.Stop();
  ASSERT_EQ(connection_->sent().size(), 1U);
  EXPECT_EQ(std::get<Reply>(connection_->sent()[0]).body, "stored");
}

TEST_F(HeldMessagesTest, WhatIsHeldDuringASyncSharesTheNextOne) {
  ASSERT_TRUE(held_.Start().ok());
  Write({ReplyTo(1)});
  AwaitSync();
  for (uint64_t sequence = 2; sequence < 10; ++sequence) Write({ReplyTo(sequence)});
  FinishSync(Status::Ok());
  held_.Stop();
  EXPECT_EQ(syncs_, 2);
  EXPECT_EQ(connection_->sent().size(), 9U);
}

TEST_F(HeldMessagesTest, AReadThatMayHaveSeenAWriteWaitsForItsSync) {
  ASSERT_TRUE(held_.Start().ok());
  held_.ExpectWrite();
  EXPECT_TRUE(held_.is_behind());
  held_.Hold({ReplyTo(1)});  // the write is not complete
  held_.NoteWritten({});
  AwaitSync();
  EXPECT_TRUE(connection_->sent().empty());
  held_.Hold({ReplyTo(2)});  // of another read, which sees the same write
  FinishSync(Status::Ok());
  held_.Stop();
  EXPECT_FALSE(held_.is_behind());
  EXPECT_EQ(connection_->sent().size(), 2U);
  EXPECT_EQ(syncs_, 1);
}

TEST_F(HeldMessagesTest, NothingOvertakesAnOrderedMessage) {
  ASSERT_TRUE(held_.Start().ok());
  Write({ReplyTo(1)});
  EXPECT_FALSE(held_.MustHold(connection_->id()));
  Write({Notice()});
  AwaitSync();
  EXPECT_TRUE(held_.MustHold(connection_->id()));
  EXPECT_FALSE(held_.MustHold(8));
  bool delivered = false;
  held_.Hold({{.connection = connection_, .message = {}, .deliver = [&] { delivered = true; }}});
  FinishSync(Status::Ok());
  held_.Stop();
  EXPECT_TRUE(delivered);
  EXPECT_FALSE(held_.MustHold(connection_->id()));
}

TEST_F(HeldMessagesTest, LargeRepliesFillIt) {
  ASSERT_TRUE(held_.Start().ok());
  Write({});
  AwaitSync();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(held_.is_full());
    held_.Hold({{.connection = connection_,
                 .message = Reply{1, Status::Ok(), std::string(kHeldBytesMax / 2, 'x')}}});
  }
  EXPECT_TRUE(held_.is_full());
  FinishSync(Status::Ok());
  held_.Stop();
  EXPECT_FALSE(held_.is_full());
}

TEST_F(HeldMessagesTest, AfterAFailedSyncRepliesAreRefused) {
  ASSERT_TRUE(held_.Start().ok());
  Write({ReplyTo(1), Notice()});
  AwaitSync();
  HeldMessages::Item request = ReplyTo(2);
  request.request_bytes = 17;
  request.deliver = [] { FAIL(); };
  Write({request});
  FinishSync(Status(StatusCode::kUnavailable, "the disk is broken"));
  held_.Stop();
  EXPECT_TRUE(held_.failed());
  EXPECT_TRUE(held_.is_behind()) << "what readers see is not on the disk";
  EXPECT_EQ(failures_.size(), 1U);
  EXPECT_EQ(syncs_, 1);
  const std::vector<ClientMessage> sent = connection_->sent();
  EXPECT_EQ(connection_->executed(), 17U);
  ASSERT_EQ(sent.size(), 2U);
  for (const ClientMessage& message : sent) {
    EXPECT_EQ(std::get<Reply>(message).status.code(), StatusCode::kUnavailable);
  }
}

}  // namespace
}  // namespace agent_graph::state

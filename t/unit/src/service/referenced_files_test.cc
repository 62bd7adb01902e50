// The memory that files of model calls take: who waits for it, and for how long.
#include "service/referenced_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "media/storage.h"
#include "run/run_environment.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::service {
namespace {

using testing::ElementsAre;

constexpr int64_t kMiB = 1024 * 1024;

// Has no file: models then get the names only, but the memory is taken.
class NoFiles : public media::Storage {
 public:
  Result<media::Spool> Receive() override { return NotFound("no file"); }
  Status Keep(media::Spool&, media::FileRecord&, const std::optional<std::string>&) override {
    return NotFound("no file");
  }
  Result<media::FileRecord> Find(const media::Reader&, const std::string&) override {
    return NotFound("no file");
  }
  Result<media::Content> Open(const media::FileRecord&, uint64_t, uint64_t) override {
    return NotFound("no file");
  }
  Result<std::string> ReadText(const media::FileRecord&) override { return NotFound("no file"); }
  std::optional<media::DirectUrl> UrlOf(const media::FileRecord&) override { return std::nullopt; }
};

class ReferencedFilesTest : public testing::Test {
 protected:
  using Share = std::shared_ptr<void>;

  ReferencedFilesTest() { EXPECT_TRUE(runtime_.Start().ok()); }
  ~ReferencedFilesTest() override { EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok()); }

  // Begins a model call with a file of this size. Returns when the call waits or has its file.
  runtime::Promise<StatusCode> Begin(const std::string& name, int64_t bytes) {
    runtime::Promise<StatusCode> loaded;
    runtime_.Spawn([=, this] {
      MediaBlock image;
      image.media.kind = MediaReference::Kind::kFileId;
      image.media.file_id = "f";
      image.media.size_bytes = bytes;
      Message message;
      message.role = Role::kUser;
      message.content = {image};
      std::vector<Message> messages = {message};
      Result<Share> share = files_.Load(environment_, messages);
      if (share.ok()) {
        order_.push_back(name);
        calls_[name] = *std::move(share);
      }
      loaded.Set(share.status().code());
    });
    // A later fiber of the only engine thread.
    runtime::Promise<bool> waits;
    runtime_.Spawn([=] { waits.Set(true); });
    EXPECT_TRUE(waits.Wait(nullptr, kNoDeadline).ok());
    return loaded;
  }

  static StatusCode CodeOf(const runtime::Promise<StatusCode>& loaded) {
    return *loaded.Wait(nullptr, kNoDeadline);
  }

  runtime::Runtime runtime_{{.threads = 1}};
  NoFiles storage_;
  ReferencedFiles files_{storage_, runtime_, true};
  run::RunEnvironment environment_;
  std::vector<std::string> order_;
  std::map<std::string, Share> calls_;
};

TEST_F(ReferencedFilesTest, ALargeFileIsNotPassedOverForever) {
  Begin("first", 20 * kMiB);
  const auto large = Begin("large", 20 * kMiB);
  const auto medium = Begin("medium", 4 * kMiB);  // there would be room for it
  const auto small = Begin("small", 90 * 1024);   // many of these would keep the room
  EXPECT_THAT(order_, ElementsAre("first"));
  calls_.erase("first");
  EXPECT_EQ(CodeOf(large), StatusCode::kOk);
  EXPECT_EQ(CodeOf(medium), StatusCode::kOk);
  calls_.erase("large");
  EXPECT_EQ(CodeOf(small), StatusCode::kOk);
  EXPECT_THAT(order_, ElementsAre("first", "large", "medium", "small"));
}

TEST_F(ReferencedFilesTest, AWaitEndsWithItsRun) {
  Begin("first", 20 * kMiB);
  environment_.deadline = MonotonicClock::now();
  EXPECT_EQ(CodeOf(Begin("late", 20 * kMiB)), StatusCode::kDeadlineExceeded);
  environment_.deadline = kNoDeadline;
  const auto left = Begin("left", 20 * kMiB);
  environment_.cancellation.Cancel(runtime::CancelReason::kClientGone);
  EXPECT_EQ(CodeOf(left), StatusCode::kCancelled);
  EXPECT_THAT(order_, ElementsAre("first"));
}

TEST_F(ReferencedFilesTest, OnlySoManyWait) {
  Begin("first", 20 * kMiB);
  std::vector<runtime::Promise<StatusCode>> waiting;
  for (size_t i = 0; i < ReferencedFiles::kWaitersMax; ++i) {
    waiting.push_back(Begin("waits", 20 * kMiB));
  }
  EXPECT_EQ(CodeOf(Begin("refused", 20 * kMiB)), StatusCode::kResourceExhausted);
  environment_.cancellation.Cancel(runtime::CancelReason::kClientGone);
  for (const auto& call : waiting) EXPECT_EQ(CodeOf(call), StatusCode::kCancelled);
}

}  // namespace
}  // namespace agent_graph::service

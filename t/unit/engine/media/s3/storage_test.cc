// Files in a bucket whose server answers what the test chooses.
#include "media/s3/storage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "../../net/on_fiber.h"
#include "../../net/scripted_server.h"
#include "../kept_file.h"
#include "media/local_storage.h"

namespace agent_graph::media::s3 {
namespace {

class S3StorageTest : public testing::OnFiber {
 protected:
  S3StorageTest() { EXPECT_NE(mkdtemp(folder_), nullptr); }
  ~S3StorageTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<S3Storage> Make() {
    LocalStorageOptions spool;
    spool.directory = folder_;
    StorageOptions options;
    options.endpoint = "http://127.0.0.1:" + std::to_string(server_.port());
    options.bucket = "files";
    return std::make_unique<S3Storage>(options, std::make_unique<LocalStorage>(spool, runtime_),
                                       net::HttpClient({}), runtime_);
  }

  static std::string Reply(const std::string& status, const std::string& headers,
                           const std::string& body = "") {
    return "HTTP/1.1 " + status + "\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  std::atomic<int> requests_{0};
  std::function<std::string(int request)> answer_;  // the first request is 1
  char folder_[20] = "/tmp/media-XXXXXX";
  testing::ScriptedServer server_{[this](testing::Connection& connection) {
    while (connection.ReadRequest()) connection.Send(answer_(++requests_));
  }};
};

TEST_F(S3StorageTest, AMissingBucketIsNoMissingFile) {
  answer_ = [](int) { return Reply("404 Not Found", "", "<Code>NoSuchBucket</Code>"); };
  Run([&] {
    const auto storage = Make();
    const Status kept = KeepFile(*storage, "hello").status();
    EXPECT_EQ(kept.code(), StatusCode::kUnavailable);
    EXPECT_NE(kept.detail().find("NoSuchBucket"), std::string::npos) << kept.detail();
    EXPECT_EQ(storage->Find(Reader{}, NewHexId()).status().code(), StatusCode::kNotFound);
  });
}

TEST_F(S3StorageTest, ATemporaryFailureIsRetriedWhenTheServerAsks) {
  answer_ = [](int request) {
    return request == 1 ? Reply("503 Slow Down", "Retry-After: 0\r\n") : Reply("200 OK", "");
  };
  Run([&] {
    const auto storage = Make();
    EXPECT_TRUE(KeepFile(*storage, "hello").ok());
  });
  EXPECT_EQ(requests_, 3) << "the file twice and its record";
}

TEST_F(S3StorageTest, ALongPauseIsNotMade) {
  answer_ = [](int) { return Reply("503 Slow Down", "Retry-After: 3600\r\n"); };
  Run([&] {
    const auto storage = Make();
    EXPECT_EQ(KeepFile(*storage, "hello").status().code(), StatusCode::kUnavailable);
  });
  EXPECT_EQ(requests_, 1);
}

TEST_F(S3StorageTest, TheRetriesEnd) {
  answer_ = [](int) { return Reply("500 Oops", "Retry-After: 0\r\n", "broken"); };
  Run([&] {
    const auto storage = Make();
    const Status kept = KeepFile(*storage, "hello").status();
    EXPECT_EQ(kept.code(), StatusCode::kUnavailable);
    EXPECT_NE(kept.detail().find("PUT answered 500: broken"), std::string::npos) << kept.detail();
  });
  EXPECT_EQ(requests_, 3);
}

TEST_F(S3StorageTest, ARangeThatIsAnsweredWithTheWholeObjectIsRefused) {
  FileRecord record;
  record.file_id = NewHexId();
  record.size_bytes = 5;
  answer_ = [](int request) {
    return request == 1 ? Reply("206 Partial Content", "", "el") : Reply("200 OK", "", "hello");
  };
  Run([&] {
    const auto storage = Make();
    Result<Content> part = storage->Open(record, 1, 2);
    ASSERT_TRUE(part.ok()) << part.status().ToString();
    EXPECT_EQ(part->stream->Read().value(), "el");
    EXPECT_EQ(storage->Open(record, 1, 2).status().code(), StatusCode::kUnavailable);
    Result<Content> whole = storage->Open(record, 0, 5);
    ASSERT_TRUE(whole.ok()) << whole.status().ToString();
    EXPECT_EQ(whole->stream->Read().value(), "hello");
  });
}

}  // namespace
}  // namespace agent_graph::media::s3

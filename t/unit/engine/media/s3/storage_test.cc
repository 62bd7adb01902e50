// Files in a bucket whose server answers what the test chooses.
#include "media/s3/storage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
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
    StorageOptions options = options_;
    if (options.endpoint.empty()) {
      options.endpoint = "http://127.0.0.1:" + std::to_string(server_.port());
    }
    options.bucket = "files";
    return std::make_unique<S3Storage>(options, std::make_unique<LocalStorage>(spool, runtime_),
                                       net::HttpClient({}), runtime_);
  }

  static std::string Reply(const std::string& status, const std::string& headers,
                           const std::string& body = "") {
    return "HTTP/1.1 " + status + "\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  StorageOptions options_;
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
    EXPECT_EQ(storage->Find(Reader{}, NewHexId()).status().code(), StatusCode::kUnavailable);
    answer_ = [](int) { return Reply("404 Not Found", "", "<Code>NoSuchKey</Code>"); };
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

// A client may read slowly. The deadline of other requests passes in the middle of the file.
TEST_F(S3StorageTest, ADownloadHasNoDeadline) {
  options_.transfer_max = std::chrono::milliseconds(100);
  FileRecord record;
  record.file_id = NewHexId();
  std::promise<void> passed;
  testing::ScriptedServer server([&](testing::Connection& connection) {
    if (!connection.ReadRequest()) return;
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst");
    passed.get_future().wait();
    connection.Send("later");
  });
  options_.endpoint = "http://127.0.0.1:" + std::to_string(server.port());
  record.size_bytes = 10;
  Run([&] {
    const auto storage = Make();
    Result<Content> content = storage->Open(record, 0, 10);
    ASSERT_TRUE(content.ok()) << content.status().ToString();
    const Deadline deadline = DeadlineAfter(options_.transfer_max);
    EXPECT_EQ(content->stream->Read().value(), "first");
    while (MonotonicClock::now() < deadline) {
      (void)runtime::SleepFor(std::chrono::milliseconds(10), nullptr);
    }
    passed.set_value();
    const Result<std::string> rest = content->stream->Read();
    ASSERT_TRUE(rest.ok()) << rest.status().ToString();
    EXPECT_EQ(*rest, "later");
  });
}

// Browsers and HTTP clients leave the default port out and write the name in lower case, so the
// signature must be for that.
TEST_F(S3StorageTest, SignsTheHostAsItIsSent) {
  FileRecord record;
  record.file_id = NewHexId();
  const auto url_with = [&](const std::string& endpoint) {
    options_.endpoint = endpoint;
    return Make()->UrlOf(record)->url;
  };
  const auto address = [](const std::string& url) { return url.substr(0, url.find("/files/")); };
  EXPECT_EQ(address(url_with("https://MinIO.example:443")), "https://minio.example");
  EXPECT_EQ(address(url_with("http://minio.example:80")), "http://minio.example");
  EXPECT_EQ(address(url_with("HTTP://[::1]:9000")), "http://[::1]:9000");
  const auto signature = [](const std::string& url) { return url.substr(url.find("Signature=")); };
  for (int tries = 0;; ++tries) {
    // Both must be signed within the same second.
    const std::string with_port = url_with("https://minio.example:443");
    const std::string without = url_with("https://minio.example");
    if (with_port.substr(0, with_port.find("Signature=")) !=
        without.substr(0, without.find("Signature="))) {
      ASSERT_LT(tries, 10);
      continue;
    }
    EXPECT_EQ(signature(with_port), signature(without));
    break;
  }
}

}  // namespace
}  // namespace agent_graph::media::s3

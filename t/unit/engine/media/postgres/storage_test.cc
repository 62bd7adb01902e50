// Files in PostgreSQL: interrupted uploads, lost connections, damage.
#include "media/postgres/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>

#include "../../state/postgres/postgres_server.h"
#include "base/file_descriptor.h"
#include "base/ids.h"
#include "media/local_storage.h"
#include "runtime/runtime.h"
#include "runtime/yield.h"
#include "state/postgres/schema/migration.h"

namespace agent_graph::media::postgres {
namespace {

using state::PostgresServer;

class PostgresStorageTest : public testing::Test {
 protected:
  PostgresStorageTest() {
    EXPECT_NE(mkdtemp(folder_), nullptr);
    const Status migrated = state::postgres::MigrateSchema(connection_);
    EXPECT_TRUE(migrated.ok()) << migrated.ToString();
  }
  ~PostgresStorageTest() override { std::filesystem::remove_all(folder_); }

  LocalStorageOptions SpoolOptions() const {
    LocalStorageOptions options;
    options.directory = folder_;
    return options;
  }
  Spool Upload(std::string_view bytes) {
    Spool spool = spools_.Receive().value();
    EXPECT_TRUE(spool.Write(bytes).ok());
    return spool;
  }
  Status Insert(const Spool& spool, const FileRecord& record,
                const std::optional<std::string>& text = {}) {
    return tables_.Insert(record, text, [&](uint64_t offset, size_t bytes_max) {
      return spool.ReadAt(offset, bytes_max);
    });
  }
  static FileRecord NewRecord(const Spool& spool) {
    FileRecord record;
    record.file_id = NewHexId();
    record.size_bytes = spool.size();
    return record;
  }
  void Run(const std::string& script) {
    const Status done = connection_.RunScript(script);
    ASSERT_TRUE(done.ok()) << done.ToString();
  }
  int64_t Count(const std::string& table) {
    return (*connection_.Execute({"SELECT count(*) FROM agent_graph." + table}))[0].Bigint(0);
  }
  void EndOtherSessions() {
    Run("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
        "WHERE application_name = 'agent-graph files' AND datname = current_database()");
  }

  char folder_[20] = "/tmp/media-XXXXXX";
  runtime::Runtime runtime_{{}};
  LocalStorage spools_{SpoolOptions(), runtime_};
  const std::string url_ = PostgresServer::Shared().CreateDatabase();
  state::postgres::Connection connection_{{.url = url_}};
  FileTables tables_{url_, std::nullopt};
};

TEST_F(PostgresStorageTest, ChunksAreWhole) {
  Spool spool = Upload(std::string((size_t{1} << 20) + 1, 'x'));
  ASSERT_TRUE(Insert(spool, NewRecord(spool)).ok());
  EXPECT_EQ(Count("file_chunk WHERE length(body) = 262144"), 4);
  EXPECT_EQ(Count("file_chunk"), 5);
}

TEST_F(PostgresStorageTest, AnUploadThatIsNotCompleteIsNoFile) {
  Spool spool = Upload("x");
  const FileRecord record = NewRecord(spool);
  ASSERT_TRUE(Insert(spool, record).ok());
  Run("UPDATE agent_graph.file SET complete = false");
  EXPECT_EQ(tables_.Find(record.file_id).status().code(), StatusCode::kNotFound);
}

TEST_F(PostgresStorageTest, RemovesManyAbandonedUploadsInSteps) {
  Run("INSERT INTO agent_graph.file (file_id, owner, record, size, created) SELECT n::text, '', "
      "'', "
      "1, now() - interval '25 hours' FROM generate_series(1, 17) AS n");
  EXPECT_TRUE(tables_.RemoveAbandoned().value());
  EXPECT_EQ(Count("file"), 9);
  EXPECT_TRUE(tables_.RemoveAbandoned().value());
  EXPECT_FALSE(tables_.RemoveAbandoned().value());
  EXPECT_EQ(Count("file"), 0);
}

TEST_F(PostgresStorageTest, RemovesAbandonedUploadsAfterADay) {
  for (int i = 0; i < 3; ++i) {
    Spool spool = Upload("x");
    ASSERT_TRUE(Insert(spool, NewRecord(spool)).ok());
  }
  Run("UPDATE agent_graph.file SET complete = false, created = now() - interval '23 hours'");
  EXPECT_FALSE(tables_.RemoveAbandoned().value());
  EXPECT_EQ(Count("file"), 3);
  Run("UPDATE agent_graph.file SET created = now() - interval '25 hours'");
  Run("UPDATE agent_graph.file SET complete = true "
      "WHERE file_id = (SELECT min(file_id) FROM agent_graph.file)");
  EXPECT_FALSE(tables_.RemoveAbandoned().value());
  EXPECT_EQ(Count("file"), 1) << "a complete file stays";
  EXPECT_EQ(Count("file_chunk"), 1);
}

TEST_F(PostgresStorageTest, AnUploadRemovesWhatOthersHaveAbandoned) {
  Spool abandoned = Upload("x");
  ASSERT_TRUE(Insert(abandoned, NewRecord(abandoned)).ok());
  Run("UPDATE agent_graph.file SET complete = false, created = now() - interval '25 hours'");
  PostgresStorage storage({.url = url_}, std::make_unique<LocalStorage>(SpoolOptions(), runtime_),
                          runtime_);
  Spool spool = Upload("y");
  FileRecord record = NewRecord(spool);
  ASSERT_TRUE(storage.Keep(spool, record, {}).ok());
  EXPECT_EQ(Count("file"), 1);
}

TEST_F(PostgresStorageTest, ConnectsAgainWhenItsSessionHasEnded) {
  Spool spool = Upload("hello");
  const FileRecord record = NewRecord(spool);
  ASSERT_TRUE(Insert(spool, record, "text").ok());
  EndOtherSessions();
  EXPECT_TRUE(tables_.Find(record.file_id).ok());
  EndOtherSessions();
  EXPECT_EQ(tables_.ReadChunk(record.file_id, 0, 1, 3).value(), "ell");
  EndOtherSessions();
  Spool other = Upload("other");
  EXPECT_TRUE(Insert(other, NewRecord(other)).ok());
}

TEST_F(PostgresStorageTest, ARepeatedTransactionChangesNothing) {
  Spool spool = Upload(std::string(size_t{5} << 20, 'x'));
  const FileRecord record = NewRecord(spool);
  ASSERT_TRUE(Insert(spool, record).ok());
  ASSERT_TRUE(Insert(spool, record).ok());
  EXPECT_EQ(Count("file"), 1);
  EXPECT_EQ(Count("file_chunk"), 20);
}

TEST_F(PostgresStorageTest, MissingBytesAreAnError) {
  Spool spool = Upload("hello");
  const FileRecord record = NewRecord(spool);
  ASSERT_TRUE(Insert(spool, record).ok());
  EXPECT_EQ(tables_.ReadChunk(record.file_id, 0, 3, 3).status().code(), StatusCode::kDataLoss);
  Run("DELETE FROM agent_graph.file_chunk");
  EXPECT_EQ(tables_.ReadChunk(record.file_id, 0, 0, 5).status().code(), StatusCode::kDataLoss);
}

TEST_F(PostgresStorageTest, WithoutTablesTheStorageIsUnavailable) {
  Run("DROP SCHEMA agent_graph CASCADE");
  Spool spool = Upload("x");
  const Status refused = Insert(spool, NewRecord(spool));
  EXPECT_NE(refused.code(), StatusCode::kOk);
  EXPECT_THAT(refused.message(), testing::Not(testing::HasSubstr("agent_graph.file")));
}

// A server that answers nothing: the kernel accepts its connections.
class SilentServer {
 public:
  SilentServer() {
    socklen_t length = sizeof address_;
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(bind(listener_.get(), address, length), 0);
    EXPECT_EQ(listen(listener_.get(), 16), 0);
    EXPECT_EQ(getsockname(listener_.get(), address, &length), 0);
  }

  std::string url() const {
    return "postgresql://127.0.0.1:" + std::to_string(ntohs(address_.sin_port)) + "/files";
  }

 private:
  const FileDescriptor listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address_{};
};

TEST_F(PostgresStorageTest, ASilentDatabaseKeepsNoOtherWorkWaiting) {
  const SilentServer server;
  PostgresStorage storage({.url = server.url()},
                          std::make_unique<LocalStorage>(SpoolOptions(), runtime_), runtime_);
  ASSERT_TRUE(runtime_.Start().ok());
  std::atomic<int> ended{0};
  int ended_before_other_work = -1;
  runtime_.Spawn([&] {
    for (int i = 0; i < 8; ++i) {
      runtime_.Spawn(
          [&] {
            const Reader reader{};
            EXPECT_EQ(storage.Find(reader, NewHexId()).status().code(), StatusCode::kUnavailable);
            ++ended;
          },
          /*here=*/true);
    }
    runtime::Yield();
    runtime_.RunOnIoPool([&] { ended_before_other_work = ended; });
  });
  ASSERT_TRUE(runtime_.Stop(kNoDeadline).ok());
  EXPECT_EQ(ended_before_other_work, 0);
  EXPECT_EQ(ended, 8);
}

}  // namespace
}  // namespace agent_graph::media::postgres

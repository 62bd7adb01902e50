// Behaviour of every storage of files: on a disk, and in a database.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "../../state/postgres/postgres_server.h"
#include "../kept_file.h"
#include "media/local_storage.h"
#include "media/postgres/storage.h"
#include "runtime/runtime.h"
#include "state/postgres/schema/migration.h"

namespace agent_graph::media {
namespace {

namespace fs = std::filesystem;

// A folder for uploads in progress, and for the files of a local storage.
class Folder {
 public:
  Folder() { EXPECT_NE(mkdtemp(path_), nullptr); }
  ~Folder() { fs::remove_all(path_); }

  LocalStorageOptions Options() const {
    LocalStorageOptions options;
    options.directory = std::string(path_) + "/uploads";
    return options;
  }

 private:
  char path_[20] = "/tmp/media-XXXXXX";
};

class Local {
 public:
  std::unique_ptr<Storage> Make(runtime::Runtime& runtime,
                                std::optional<uint64_t> total_bytes_max) {
    LocalStorageOptions options = folder_.Options();
    options.total_bytes_max = total_bytes_max;
    return std::make_unique<LocalStorage>(options, runtime);
  }

 private:
  Folder folder_;
};

class Postgres {
 public:
  Postgres() {
    state::postgres::Connection connection({.url = url_});
    const Status migrated = state::postgres::MigrateSchema(connection);
    EXPECT_TRUE(migrated.ok()) << migrated.ToString();
  }
  std::unique_ptr<Storage> Make(runtime::Runtime& runtime,
                                std::optional<uint64_t> total_bytes_max) {
    return std::make_unique<postgres::PostgresStorage>(
        postgres::StorageOptions{.url = url_, .total_bytes_max = total_bytes_max},
        std::make_unique<LocalStorage>(folder_.Options(), runtime), runtime);
  }

 private:
  Folder folder_;
  const std::string url_ = state::PostgresServer::Shared().CreateDatabase();
};

template <typename Place>
class StorageConformance : public testing::Test {
 protected:
  std::unique_ptr<Storage> Make(std::optional<uint64_t> total_bytes_max = {}) {
    return place_.Make(runtime_, total_bytes_max);
  }

  static Result<std::string> Read(Storage& storage, const FileRecord& record, uint64_t first,
                                  uint64_t length) {
    AG_ASSIGN_OR_RETURN(Content content, storage.Open(record, first, length));
    if (content.stream == nullptr) return ReadExactly(content.file.get(), first, length);
    std::string bytes;
    for (;;) {
      AG_ASSIGN_OR_RETURN(const std::string piece, content.stream->Read());
      if (piece.empty()) return bytes;
      bytes += piece;
    }
  }

  runtime::Runtime runtime_{{}};  // not started, so its pool runs work at once
  Place place_;
};

using Places = testing::Types<Local, Postgres>;
TYPED_TEST_SUITE(StorageConformance, Places);

TYPED_TEST(StorageConformance, KeepsBytesRecordAndText) {
  const std::string owner = "al\xc3\xaf'ce";
  const FileRecord kept = KeepFile(*this->Make(), "hello", owner, "the text").value();
  EXPECT_EQ(kept.sha256, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  EXPECT_EQ(kept.size_bytes, 5u);
  const std::unique_ptr<Storage> again = this->Make();
  const Result<FileRecord> found = again->Find({owner, true}, kept.file_id);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(ToText(*found), ToText(kept));
  EXPECT_EQ(again->ReadText(*found).value(), "the text");
  EXPECT_EQ(this->Read(*again, *found, 0, 5).value(), "hello");
}

TYPED_TEST(StorageConformance, KeepsAnEmptyFile) {
  const std::unique_ptr<Storage> storage = this->Make();
  const FileRecord kept = KeepFile(*storage, "").value();
  EXPECT_FALSE(kept.has_text);
  EXPECT_EQ(storage->Find({}, kept.file_id)->size_bytes, 0u);
  EXPECT_EQ(this->Read(*storage, kept, 0, 0).value(), "");
}

TYPED_TEST(StorageConformance, ReadsEveryRangeOfALargeFile) {
  std::string bytes;  // more than two transactions of the database, and no multiple of a chunk
  for (uint64_t i = 0; bytes.size() < (size_t{9} << 20) + 5; ++i) bytes += std::to_string(i) + ' ';
  const std::unique_ptr<Storage> storage = this->Make();
  const FileRecord kept = KeepFile(*storage, bytes).value();
  const uint64_t chunk = uint64_t{256} * 1024;
  const uint64_t size = bytes.size();
  for (const auto& [first, length] :
       std::vector<std::pair<uint64_t, uint64_t>>{{0, size},
                                                  {0, 1},
                                                  {size - 1, 1},
                                                  {chunk - 1, 2},
                                                  {chunk, chunk},
                                                  {chunk + 7, 3 * chunk},
                                                  {(uint64_t{4} << 20) - 1, 2},
                                                  {size - chunk, chunk}}) {
    const Result<std::string> read = this->Read(*storage, kept, first, length);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_TRUE(*read == bytes.substr(first, length)) << first << " " << length;
  }
}

TYPED_TEST(StorageConformance, HidesFilesOfOthers) {
  const std::unique_ptr<Storage> storage = this->Make();
  const FileRecord mine = KeepFile(*storage, "x", "alice").value();
  const FileRecord nobodys = KeepFile(*storage, "x").value();
  const Status unknown = storage->Find({"bob", true}, std::string(32, '0')).status();
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_EQ(storage->Find({"bob", true}, mine.file_id).status(), unknown);
  EXPECT_EQ(storage->Find({"", true}, mine.file_id).status(), unknown);
  EXPECT_TRUE(storage->Find({"bob", true}, nobodys.file_id).ok());
  EXPECT_EQ(storage->Find({"bob", false}, nobodys.file_id).status(), unknown);
}

TYPED_TEST(StorageConformance, TakesNothingButIdsForNames) {
  const std::unique_ptr<Storage> storage = this->Make();
  ASSERT_TRUE(KeepFile(*storage, "x").ok());
  for (const std::string& name : std::vector<std::string>{
           "", "..", "../../etc/passwd", std::string(32, 'A'), std::string(33, 'a'), "' OR true --",
           std::string(31, 'a') + '\0'}) {
    EXPECT_EQ(storage->Find({}, name).status().code(), StatusCode::kNotFound) << name;
  }
}

TYPED_TEST(StorageConformance, IsFullAtItsLimit) {
  const std::unique_ptr<Storage> storage = this->Make(size_t{4} << 20);
  const std::string bytes(size_t{1} << 20, 'x');
  int kept = 0;
  Status last;
  // The limit may count more than the bytes of a file.
  while ((last = KeepFile(*storage, bytes).status()).ok()) ++kept;
  EXPECT_EQ(last.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(kept == 3 || kept == 4) << kept;
}

}  // namespace
}  // namespace agent_graph::media

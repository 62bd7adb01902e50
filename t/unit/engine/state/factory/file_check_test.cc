// Damage of LevelDB's logs and MANIFESTs is found, also where LevelDB takes it for the end of a
// file.
#include "state/leveldb/files/file_check.h"
#include "state/leveldb/database/database.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../leveldb/log_file.h"
#include "base/crc32c.h"
#include "maintenance_fixture.h"
#include "state/leveldb/files/log_records.h"
#include "state/leveldb/files/names.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

namespace fs = std::filesystem;

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<std::string> Payloads(std::string_view log) {
  std::vector<std::string> payloads;
  LogReader reader(log);
  std::string_view payload;
  while (reader.Next(payload)) payloads.emplace_back(payload);
  return payloads;
}

TEST(Crc32c, HasTheKnownValues) {
  EXPECT_EQ(Crc32c(""), 0U);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(Crc32c("56789", Crc32c("1234")), 0xe3069283U);
}

TEST(LogRecords, AreReadAsTheyWereWritten) {
  const std::vector<std::string> written = {"a", "", std::string(100'000, 'x'),
                                            std::string(kLogBlockBytes - 3 * kLogHeadBytes, 'y'),
                                            "the end"};
  std::string log;
  for (const std::string& payload : written) AppendLogRecord(payload, log);
  EXPECT_EQ(Payloads(log), written);
}

TEST(LogRecords, BehindDamageAreFound) {
  std::string log;
  for (const char* payload : {"first", "second", "third"}) AppendLogRecord(payload, log);
  log[kLogHeadBytes + 5 + 5] = '\x7f';  // the length of the second
  LogReader reader(log);
  std::string_view payload;
  ASSERT_TRUE(reader.Next(payload));
  EXPECT_FALSE(reader.Next(payload));
  EXPECT_FALSE(reader.AtEnd());
  ASSERT_TRUE(reader.SkipDamage());
  ASSERT_TRUE(reader.Next(payload));
  EXPECT_EQ(payload, "third");
}

TEST(LogRecords, EndWhereZerosBegin) {
  std::string log;
  AppendLogRecord("a record", log);
  const size_t end = log.size();
  log.resize(3 * kLogBlockBytes);
  LogReader reader(log);
  std::string_view payload;
  ASSERT_TRUE(reader.Next(payload));
  EXPECT_FALSE(reader.Next(payload));
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(reader.whole_end(), end);
}

// Returns the log's reader behind its last whole record.
LogReader AtLastWhole(std::string_view log) {
  LogReader reader(log);
  std::string_view payload;
  while (reader.Next(payload)) continue;
  return reader;
}

TEST(LogRecords, AreUnfinishedIfASectorIsMissing) {
  constexpr size_t kSector = 512;
  // The head of the second record begins at each place of a sector.
  for (size_t first = 1; first <= kSector; ++first) {
    std::string log;
    AppendLogRecord(std::string(first, 'f'), log);
    const size_t begin = log.size();
    AppendLogRecord(std::string(2000, 'x'), log);
    const size_t end = log.size();
    AppendLogRecord("third", log);
    const std::string whole = log;
    for (size_t sector = begin - begin % kSector; sector < end; sector += kSector) {
      log = whole;
      const size_t from = std::max(begin, sector);
      const size_t size = std::min(sector + kSector, log.size()) - from;
      log.replace(from, size, size, '\0');
      const LogReader reader = AtLastWhole(log);
      EXPECT_EQ(reader.whole_end(), begin);
      EXPECT_TRUE(reader.IsUnfinished()) << "sector at " << sector << ", record at " << begin;
    }
  }
}

TEST(LogRecords, AreUnfinishedIfASectorOfALongOneIsMissing) {
  constexpr size_t kSector = 512;
  std::string whole;
  AppendLogRecord(std::string(3 * kLogBlockBytes, 'x'), whole);
  AppendLogRecord("second", whole);
  for (size_t sector = 0; sector < 3 * kLogBlockBytes; sector += kSector) {
    std::string log = whole;
    log.replace(sector, kSector, kSector, '\0');
    const LogReader reader = AtLastWhole(log);
    EXPECT_EQ(reader.whole_end(), 0U);
    EXPECT_TRUE(reader.IsUnfinished()) << "sector at " << sector;
  }
}

TEST(LogRecords, AreDamagedIfNoSectorIsMissing) {
  std::string log;
  AppendLogRecord("first", log);
  const size_t begin = log.size();
  AppendLogRecord(std::string(2000, 'x'), log);
  AppendLogRecord("third", log);
  log.resize(2 * kLogBlockBytes);
  for (const size_t byte : {begin, begin + 4, begin + 5, begin + kLogHeadBytes + 1000}) {
    std::string damaged = log;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 0x7f);
    EXPECT_FALSE(AtLastWhole(damaged).IsUnfinished()) << "byte " << byte;
  }
}

struct Damage {
  const char* name;
  // Changes the log; `begin` and `end` of a record.
  void (*apply)(std::string& log, size_t begin, size_t end);
  bool shows_without_marks;  // unless it is the last record
};

const Damage kDamages[] = {
    {"a length that points behind the end",
     [](std::string& log, size_t begin, size_t) { log[begin + 5] = '\x7f'; }, true},
    {"a length that is a little too long",
     [](std::string& log, size_t begin, size_t) {
       log[begin + 4] = static_cast<char>(log[begin + 4] + 1);
     },
     true},
    {"a head of zeros",
     [](std::string& log, size_t begin, size_t) {
       log.replace(begin, kLogHeadBytes, kLogHeadBytes, '\0');
     },
     true},
    {"a wrong checksum",
     [](std::string& log, size_t begin, size_t) { log[begin] = static_cast<char>(log[begin] ^ 1); },
     true},
    {"a wrong byte",
     [](std::string& log, size_t, size_t end) {
       log[end - 1] = static_cast<char>(log[end - 1] ^ 1);
     },
     true},
    {"cut before the record", [](std::string& log, size_t begin, size_t) { log.resize(begin); },
     false},
    {"cut in the record", [](std::string& log, size_t, size_t end) { log.resize(end - 1); }, false},
};

class FileCheckTest : public MaintenanceTest {
 protected:
  static constexpr int kMessagesMin = 40;

  void SetUp() override {
    Serve([this](Client& client) {
      // The last block of the log holds some of them.
      while (messages_ < kMessagesMin || LogBytes() % kLogBlockBytes < kLogBlockBytes / 2) {
        const StoredMessage message =
            UserMessage(Numbered("m", messages_++), std::string(2000, 'x'));
        ASSERT_TRUE(client.AppendMessages(MessagesOn("t", "alice", {message})).ok());
      }
    });
    for (const std::string& name : NamesIn(database_path())) {
      const FileName file = ParseFileName(name);
      if (file.kind == FileKind::kLog) log_name_ = name;
      if (file.kind == FileKind::kManifest) manifest_name_ = name;
    }
    log_ = ReadFile(database_path() + "/" + log_name_);
    ASSERT_GT(log_.size(), kLogBlockBytes);
    fs::rename(database_path(), pristine_);
  }
  size_t LogBytes() const {
    for (const std::string& name : NamesIn(database_path())) {
      if (ParseFileName(name).kind == FileKind::kLog) {
        return RecordBytes(database_path() + "/" + name);
      }
    }
    return 0;
  }
  // The database as it was.
  void Restore() {
    fs::remove_all(database_path());
    fs::copy(pristine_, database_path(), fs::copy_options::recursive);
  }
  void SetLog(const std::string& bytes) { WriteFile(database_path() + "/" + log_name_, bytes); }
  // Returns the offset after each whole record.
  std::vector<size_t> Ends() const {
    std::vector<size_t> ends;
    LogReader reader(log_);
    std::string_view payload;
    while (reader.Next(payload)) ends.push_back(reader.whole_end());
    return ends;
  }
  StatusCode OpenedCode() const {
    return LevelDatabase::OpenDirectory(database_path()).status().code();
  }

  const std::string pristine_ = directory_.path() + "/pristine";
  std::string log_name_;
  std::string manifest_name_;
  std::string log_;
  int messages_ = 0;
};

TEST_F(FileCheckTest, EachDamagedRecordOfTheLogIsFound) {
  const std::vector<size_t> ends = Ends();
  ASSERT_THAT(ends, SizeIs(testing::Ge(static_cast<size_t>(messages_))));
  Restore();
  const std::string marks = database_path() + "/SYNCED";
  for (const Damage& damage : kDamages) {
    for (size_t record = 0; record < ends.size(); ++record) {
      const size_t begin = record == 0 ? 0 : ends[record - 1];
      if (kLogBlockBytes - begin % kLogBlockBytes < kLogHeadBytes)
        continue;  // the head is elsewhere
      std::string log = log_;
      damage.apply(log, begin, ends[record]);
      SetLog(log);
      EXPECT_EQ(OpenedCode(), StatusCode::kDataLoss) << damage.name << ", record " << record;
    }
  }
  // A database of an earlier version has no marks: holes are found by the records behind them.
  for (const Damage& damage : kDamages) {
    for (size_t record = 0; damage.shows_without_marks && record + 1 < ends.size(); ++record) {
      const size_t begin = record == 0 ? 0 : ends[record - 1];
      if (kLogBlockBytes - begin % kLogBlockBytes < kLogHeadBytes) continue;
      std::string log = log_;
      damage.apply(log, begin, ends[record]);
      SetLog(log);
      fs::remove(marks);
      EXPECT_EQ(OpenedCode(), StatusCode::kDataLoss) << damage.name << ", record " << record;
    }
  }
}

TEST_F(FileCheckTest, MissingFilesAreFound) {
  for (const std::string& name : {log_name_, manifest_name_, std::string("CURRENT")}) {
    Restore();
    fs::remove(database_path() + "/" + name);
    EXPECT_EQ(OpenedCode(), StatusCode::kDataLoss) << name;
  }
  Restore();
  EXPECT_EQ(OpenedCode(), StatusCode::kOk);
}

TEST_F(FileCheckTest, ADamagedManifestIsFound) {
  for (const size_t byte : {size_t{0}, size_t{4}, size_t{8}}) {
    Restore();
    const std::string path = database_path() + "/" + manifest_name_;
    std::string bytes = ReadFile(path);
    bytes[byte] = static_cast<char>(bytes[byte] ^ 0x55);
    WriteFile(path, bytes);
    EXPECT_EQ(OpenedCode(), StatusCode::kDataLoss) << byte;
  }
}

// SYNCED alone was left behind.
TEST_F(FileCheckTest, MarksOfFilesThatHaveGoneAreForgotten) {
  Restore();
  for (const std::string& name : NamesIn(database_path())) {
    if (name != "SYNCED") fs::remove(database_path() + "/" + name);
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(OpenedCode(), StatusCode::kOk);
}

// A power cut or the death of a process leaves a part of a record that was not acknowledged.
TEST_F(FileCheckTest, BytesBehindTheMarkAreNoDamageOfTheMarked) {
  Restore();
  std::string record;
  AppendLogRecord(std::string(100, 'x'), record);
  SetLog(log_ + record.substr(0, record.size() / 2));
  EXPECT_EQ(OpenedCode(), StatusCode::kOk);
}

// LevelDB would report them as damage, or take what lies behind them for records.
TEST_F(FileCheckTest, UnfinishedRecordsAreCutOff) {
  std::string log = log_;
  for (const char fill : {'x', 'y', 'z'}) AppendLogRecord(std::string(3000, fill), log);
  const size_t hole = log_.size() + 1000;
  log.replace(hole - hole % 512, 512, 512, '\0');
  log.resize(log.size() + 2 * kLogBlockBytes);
  Restore();
  SetLog(log);
  ASSERT_TRUE(LevelDatabase::OpenReadOnly(database_path()).ok());
  EXPECT_EQ(ReadFile(database_path() + "/" + log_name_), log) << "reading changes nothing";
  EXPECT_EQ(OpenedCode(), StatusCode::kOk);
  const std::string kept = ReadFile(database_path() + "/lost/" + log_name_ + ".cut");
  EXPECT_EQ(kept, log.substr(log_.size(), log.find_last_not_of('\0') + 1 - log_.size()));
  EXPECT_THAT(Problems(), IsEmpty());
  Serve([&](Client& client) {
    Result<MessagePage> page = client.ListMessages(Scope::All(), "t", Page(0));
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    EXPECT_THAT(page->messages, SizeIs(messages_));
  });
}

// Logs without marks were never filled with zeros in advance, so zeros in them are damage.
TEST_F(FileCheckTest, AHoleWithoutMarksIsDamage) {
  const std::vector<size_t> ends = Ends();
  Restore();
  std::string log = log_;
  const size_t hole = ends[ends.size() - 4] + 1000;
  log.replace(hole - hole % 512, 512, 512, '\0');
  SetLog(log);
  fs::remove(database_path() + "/SYNCED");
  EXPECT_EQ(OpenedCode(), StatusCode::kDataLoss);
}

// The lengths of these records seem to reach the zeros behind the last one.
TEST_F(FileCheckTest, DamageBeforeZerosIsFoundWithoutMarks) {
  const std::vector<size_t> ends = Ends();
  Restore();
  const size_t last = ends.size() - 1;
  ASSERT_EQ(ends[last - 3] / kLogBlockBytes, ends[last] / kLogBlockBytes) << "in one block";
  std::string log = log_;
  log[ends[last - 3] + 5] = '\x7f';
  log.resize(log.size() + 2 * kLogBlockBytes);
  SetLog(log);
  fs::remove(database_path() + "/SYNCED");
  EXPECT_EQ(OpenedCode(), StatusCode::kDataLoss);
}

TEST_F(FileCheckTest, ARepairLeavesAnIntactLogWithZerosBehindIt) {
  Restore();
  SetLog(log_ + std::string(2 * kLogBlockBytes, '\0'));
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_FALSE(fs::exists(database_path() + "/lost/" + log_name_));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(FileCheckTest, ARepairLosesTheDamagedRecordOnly) {
  const std::vector<size_t> ends = Ends();
  size_t record = ends.size() - 5;
  while (log_.substr(ends[record - 1], ends[record] - ends[record - 1]).find("\"m") ==
         std::string::npos) {
    --record;
  }
  ASSERT_EQ(ends[record - 1] / kLogBlockBytes, log_.size() / kLogBlockBytes) << "in the last block";
  const std::string damaged = log_.substr(ends[record - 1], ends[record] - ends[record - 1]);
  std::vector<std::string> kept;
  for (int i = 0; i < messages_; ++i) {
    const std::string id = Numbered("m", i);
    if (damaged.find("\"" + id + "\"") == std::string::npos) kept.push_back(id);
  }
  ASSERT_THAT(kept, SizeIs(messages_ - 1));
  Restore();
  std::string log = log_;
  log[ends[record - 1] + 5] = '\x7f';
  SetLog(log);
  ASSERT_EQ(OpenedCode(), StatusCode::kDataLoss);
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_THAT(Problems(), IsEmpty());
  Serve([&](Client& client) {
    Result<MessagePage> page = client.ListMessages(Scope::All(), "t", Page(0));
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    EXPECT_EQ(Ids(page->messages), kept);
  });
}

}  // namespace
}  // namespace agent_graph::state

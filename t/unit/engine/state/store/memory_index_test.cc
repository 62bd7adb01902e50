// Search in many memories: the approximate index, its file, and memory limits.
#include "state/search/memory_index.h"
#include "state/leveldb/database/database.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "../requests.h"
#include "base/file_descriptor.h"
#include "state/rows/transaction.h"
#include "state/store/memories.h"
#include "state/store/memory_rows.h"

#ifdef __SANITIZE_THREAD__
// hnswlib locks the elements of a graph in any order, which is correct as long as only one thread
// adds elements. It also has more mutexes than ThreadSanitizer can track, so they could not be
// distinguished from ours.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "detect_deadlocks=0";
}
#endif

namespace agent_graph::state {
namespace {

using testing::SizeIs;

constexpr size_t kDimensions = 128;
constexpr size_t kPlenty = size_t{1} << 30;
constexpr size_t kNearestMin = 2'000;
constexpr size_t kMany = kNearestMin + 500;
constexpr std::chrono::minutes kBuildPatience{5};

std::string Bytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class MemoryIndexTest : public testing::Test {
 protected:
  MemoryIndexTest() : database_(*LevelDatabase::OpenMemory()), transaction_(*database_) {}

  // Alice's memories, stored in the database and loaded into memory as for a search.
  Partition FillPartition() {
    Partition partition("test", kDimensions, kNearestMin);
    std::vector<Embedding> embeddings;
    MemoryRecord record;
    record.owner = "alice";
    record.content = "x";
    for (size_t i = 1; i <= kMany; ++i) {
      const std::vector<float> vector = RandomVector();
      embeddings.push_back({"test", Bytes(vector)});
      partition.Put(Put("alice", i, vector), record);
    }
    Commit();
    for (size_t i = 1; i <= kMany; ++i) partition.PutVector({"alice", i}, embeddings[i - 1]);
    return partition;
  }

  // Length 1: cosine and dot product give the same order.
  std::vector<float> RandomVector() {
    std::vector<float> vector(kDimensions);
    float square = 0;
    for (float& value : vector) {
      value = normal_(random_);
      square += value * value;
    }
    for (float& value : vector) value /= std::sqrt(square);
    return vector;
  }

  MemoryKey Put(const std::string& owner, uint64_t number, const std::vector<float>& vector,
                const std::string& content = "x") {
    const MemoryKey key{owner, number};
    MemoryRecord record;
    record.id = std::to_string(number);
    record.owner = owner;
    record.content = content;
    transaction_.PutRow(keys::Memory(key), record);
    transaction_.PutRow(keys::MemoryVector(key), Embedding{"test", Bytes(vector)});
    return key;
  }
  void Commit() {
    transaction_.Accept(false);
    ASSERT_TRUE(transaction_.Commit().ok());
  }

  static SearchMemoriesRequest Query(const std::string& owner, const std::vector<float>& vector,
                                     Metric metric = Metric::kCosine) {
    SearchMemoriesRequest search;
    search.scope = Scope::Owner(owner);
    search.embedding = {"test", Bytes(vector)};
    search.metric = metric;
    return search;
  }
  static std::set<std::string> Found(MemoryIndex& index, const SearchMemoriesRequest& search) {
    Result<MemoryHits> hits = index.Search(search);
    EXPECT_TRUE(hits.ok()) << hits.status().ToString();
    std::set<std::string> ids;
    if (!hits.ok()) return ids;
    for (const MemoryHit& hit : hits->hits) ids.insert(hit.memory.id);
    return ids;
  }
  // The fraction of the exact search's results that the approximate search finds.
  double Recall(MemoryIndex& index) {
    size_t same = 0;
    size_t all = 0;
    for (int i = 0; i < 50; ++i) {
      const std::vector<float> query = RandomVector();
      const auto exact = Found(index, Query("alice", query, Metric::kDotProduct));
      for (const std::string& id : Found(index, Query("alice", query))) same += exact.count(id);
      all += exact.size();
    }
    return static_cast<double>(same) / static_cast<double>(all);
  }
  // The name of a saved index; empty if there is none.
  static std::string NameOfSealed(const std::string& directory) {
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator(directory, ignored)) {
      if (file.path().extension() == ".seal") return file.path().stem();
    }
    return "";
  }
  static bool HasSeal(const std::string& directory) { return !NameOfSealed(directory).empty(); }
  static void AwaitSeal(const std::string& directory) {
    const Deadline patience = DeadlineAfter(kBuildPatience);
    // Leaves the processor to the thread that saves the index.
    constexpr std::chrono::milliseconds kPause{10};
    while (!HasSeal(directory) && MonotonicClock::now() < patience) {
      std::this_thread::sleep_for(kPause);
    }
    ASSERT_TRUE(HasSeal(directory));
  }

  std::unique_ptr<LevelDatabase> database_;
  const StoredMemoryRows rows_{*database_};
  Transaction transaction_;
  std::mt19937 random_{42};
  std::normal_distribution<float> normal_;
};

// Saves an index's files, like the state server's thread.
class Keeper {
 public:
  explicit Keeper(MemoryIndex& index) : index_(index), thread_([this] { index_.KeepIndexes(); }) {}
  ~Keeper() {
    index_.Stop();
    thread_.join();
  }

 private:
  MemoryIndex& index_;
  std::thread thread_;
};

TEST_F(MemoryIndexTest, ManyVectorsAreFoundByTheApproximateIndexToo) {
  TemporaryDirectory directory;
  const std::string files = directory.path() + "/index";
  std::vector<float> known;
  for (size_t i = 1; i <= kMany; ++i) {
    known = RandomVector();
    Put("alice", i, known);
  }
  Commit();
  {
    MemoryIndex index(rows_, files, kPlenty, kNearestMin);
    Keeper keeper(index);
    EXPECT_EQ(Found(index, Query("alice", known)).count(std::to_string(kMany)), 1u);
    AwaitSeal(files);
    EXPECT_GE(Recall(index), 0.95);
    // Filters and changes are still respected.
    SearchMemoriesRequest filtered = Query("alice", known);
    filtered.filter.equals = {{"content", "\"rare\""}};
    EXPECT_THAT(Found(index, filtered), SizeIs(0));
    index.Changed({Put("alice", kMany + 1, known, "rare")});
    Commit();
    EXPECT_EQ(Found(index, filtered), std::set<std::string>{std::to_string(kMany + 1)});
    transaction_.Delete(keys::Memory({"alice", kMany}));
    Commit();
    index.Changed({{"alice", kMany}});
    EXPECT_EQ(Found(index, Query("alice", known)).count(std::to_string(kMany)), 0u);
    EXPECT_EQ(Found(index, Query("alice", known)).count(std::to_string(kMany + 1)), 1u);
  }
  {
    // Loaded from the file, which does not contain the changes.
    MemoryIndex index(rows_, files, kPlenty, kNearestMin);
    Keeper keeper(index);
    EXPECT_GE(Recall(index), 0.95);
    EXPECT_EQ(Found(index, Query("alice", known)).count(std::to_string(kMany)), 0u);
    EXPECT_EQ(Found(index, Query("alice", known)).count(std::to_string(kMany + 1)), 1u);
  }
}

TEST(NearestIndex, AFileIsTakenWholeOrNotAtAll) {
  TemporaryDirectory directory;
  const std::string file = directory.path() + "/vectors";
  NearestIndex index(2, 10);
  const float east[] = {1, 0};
  const float north[] = {0, 2};
  ASSERT_TRUE(index.Add(1, east).ok());
  ASSERT_TRUE(index.Add(2, north).ok());
  ASSERT_TRUE(index.Add(3, north).ok());
  index.Remove(3);
  ASSERT_TRUE(index.Save(file, "here").ok());
  auto loaded = NearestIndex::Load(file, "here", 2);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  auto nearest = (*loaded)->Nearest(north, 2, 10);
  ASSERT_THAT(nearest, SizeIs(2));
  EXPECT_EQ(nearest[0].label, 2u);
  EXPECT_NEAR(nearest[0].cosine, 1, 1e-6);
  EXPECT_TRUE((*loaded)->Holds(1, east));
  EXPECT_FALSE((*loaded)->Holds(1, north));
  EXPECT_FALSE((*loaded)->Holds(3, north));
  EXPECT_EQ(NearestIndex::Load(file, "there", 2).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(NearestIndex::Load(file, "here", 3).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(NearestIndex::Load(file + "x", "here", 2).status().code(), StatusCode::kNotFound);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(NearestIndex::Load(file, "here", 2).status().code(), StatusCode::kDataLoss);
  std::ofstream(file + ".seal") << "nonsense";
  EXPECT_EQ(NearestIndex::Load(file, "here", 2).status().code(), StatusCode::kNotFound);
}

TEST_F(MemoryIndexTest, SearchesGoOnWhileAnIndexIsSavedAndStoppingEndsIt) {
  FillPartition();
  TemporaryDirectory directory;
  const std::string first = directory.path() + "/first";
  {
    MemoryIndex index(rows_, first, kPlenty, kNearestMin);
    Keeper keeper(index);
    Found(index, Query("alice", RandomVector()));
    AwaitSeal(first);
  }
  // In another folder, the file of the same name is a pipe: its small buffer blocks the writer.
  const std::string second = directory.path() + "/second";
  std::filesystem::create_directory(second);
  const std::string pipe = second + "/" + NameOfSealed(first) + ".draft";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor reader(open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  pollfd readable{reader.get(), POLLIN, 0};
  constexpr int kPatienceMs = std::chrono::milliseconds(kBuildPatience).count();

  MemoryIndex index(rows_, second, kPlenty, kNearestMin);
  const std::vector<float> vector = RandomVector();
  Found(index, Query("alice", vector));
  std::thread keeper([&] { index.KeepIndexes(); });
  EXPECT_EQ(poll(&readable, 1, kPatienceMs), 1) << "it is being saved";
  const MemoryKey added = Put("alice", kMany + 1, vector);
  Commit();
  index.Changed({added});
  EXPECT_EQ(Found(index, Query("alice", vector)).count(std::to_string(kMany + 1)), 1u);
  index.Stop();
  size_t written = 0;
  std::string piece(64 * 1024, '\0');
  while (poll(&readable, 1, kPatienceMs) == 1) {
    const ssize_t got = read(reader.get(), piece.data(), piece.size());
    if (got == 0) break;
    if (got > 0) written += static_cast<size_t>(got);
  }
  keeper.join();
  EXPECT_LT(written, kMany * kDimensions * sizeof(float));
  EXPECT_FALSE(HasSeal(second));
}

TEST_F(MemoryIndexTest, MemoryIsBounded) {
  const std::vector<float> vector = RandomVector();
  for (size_t i = 1; i <= 3000; ++i) Put("many", i, vector);
  for (size_t i = 1; i <= 20; ++i) Put(Numbered("user", static_cast<int>(i)), 10'000 + i, vector);
  Commit();
  MemoryIndex index(rows_, "", 30'000, kNearestMin);
  EXPECT_EQ(index.Search(Query("many", vector)).status().code(), StatusCode::kResourceExhausted);
  // The users' vectors do not fit into memory together, so they are loaded in turn.
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i <= 20; ++i) {
      EXPECT_EQ(Found(index, Query(Numbered("user", i), vector)),
                std::set<std::string>{std::to_string(10'000 + i)});
    }
  }
}

TEST_F(MemoryIndexTest, AnIndexIsMadeWhereItFits) {
  const Partition partition = FillPartition();
  const size_t both = partition.bytes() + NearestIndex::BytesOf(kDimensions, kMany);
  EXPECT_FALSE(partition.wants_nearest(both - 1));
  EXPECT_TRUE(partition.wants_nearest(both));
}

TEST_F(MemoryIndexTest, AnIndexMakesRoomForTheMemories) {
  TemporaryDirectory directory;
  const std::string files = directory.path() + "/index";
  const size_t bytes = FillPartition().bytes() + NearestIndex::BytesOf(kDimensions, kMany);
  constexpr size_t kSlack = 256 * 1024;
  MemoryIndex index(rows_, files, bytes + kSlack, kNearestMin);
  Keeper keeper(index);
  EXPECT_THAT(Found(index, Query("alice", RandomVector())), SizeIs(10));
  AwaitSeal(files);
  for (size_t number = kMany; number < kMany + kMany / 2;) {
    std::vector<MemoryKey> changes;
    std::vector<float> vector;
    while (changes.size() < 125) {
      vector = RandomVector();
      changes.push_back(Put("alice", ++number, vector));
    }
    Commit();
    index.Changed(changes);
    EXPECT_EQ(Found(index, Query("alice", vector)).count(std::to_string(number)), 1u);
  }
}

TEST_F(MemoryIndexTest, SearchesEndWhenTheOwnerLeaves) {
  Put("alice", 1, RandomVector());
  Commit();
  MemoryIndex index(rows_, "", kPlenty, kNearestMin);
  index.Stop();
  EXPECT_EQ(index.Search(Query("alice", RandomVector())).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace agent_graph::state

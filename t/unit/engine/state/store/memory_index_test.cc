// Search in many memories: the approximate index and its file.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/file_descriptor.h"
#include "memory_index_fixture.h"
#include "state/search/index_files.h"

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

TEST_F(MemoryIndexTest, IndexesOfOwnersWithoutMemoriesAreDeleted) {
  TemporaryDirectory directory;
  const std::string& files = directory.path();
  const auto save = [&](const std::optional<std::string>& owner) {
    const std::string name = IndexNameOf(owner);
    EXPECT_TRUE(
        NearestIndex(kDimensions, 1).Save(IndexFileOf(files, name), name + " a space").ok());
  };
  const auto is_saved = [&](const std::optional<std::string>& owner) {
    const std::string file = IndexFileOf(files, IndexNameOf(owner));
    const bool exists = std::filesystem::exists(file);
    EXPECT_EQ(std::filesystem::exists(SealOf(file)), exists);
    return exists;
  };
  Put("alice", 1, RandomVector());
  Commit();
  save("alice");
  save("al ice");
  save(std::nullopt);
  RemoveUnusedIndexes(rows_, files, /*stopping=*/false);
  EXPECT_TRUE(is_saved("alice"));
  EXPECT_FALSE(is_saved("al ice"));
  EXPECT_TRUE(is_saved(std::nullopt)) << "the index of all owners";
  transaction_.Delete(keys::Memory({"alice", 1}));
  Commit();
  MemoryIndex index(rows_, files, kPlenty);
  const Keeper keeper(index);
  while (!std::filesystem::is_empty(files)) std::this_thread::yield();
}

TEST_F(MemoryIndexTest, FilesOfUnfinishedSavesAreDeleted) {
  TemporaryDirectory directory;
  const std::string& files = directory.path();
  const auto file_of = [&](const std::string& owner) {
    return IndexFileOf(files, IndexNameOf(owner));
  };
  for (const std::string owner : {"alice", "bob", "carol", "dave"}) {
    Put(owner, 1, RandomVector());
    const std::string space = IndexNameOf(owner) + " a space";
    ASSERT_TRUE(NearestIndex(kDimensions, 1).Save(file_of(owner), space).ok());
  }
  Commit();
  // A complete index whose next save was killed, and one for each later step of a save.
  std::ofstream(DraftOf(file_of("alice"))) << "half";
  ASSERT_TRUE(std::filesystem::remove(SealOf(file_of("bob"))));
  ASSERT_TRUE(std::filesystem::remove(SealOf(file_of("carol"))));
  std::ofstream(DraftOf(SealOf(file_of("carol")))) << "half";
  std::filesystem::resize_file(SealOf(file_of("dave")), 0);
  std::set<std::string> kept = {file_of("alice"), SealOf(file_of("alice")), files + "/notes",
                                files + "/notes.draft"};
  std::ofstream(files + "/notes") << "not an index";
  std::ofstream(files + "/notes.draft") << "not an index";
  // Opening a pipe would block.
  for (const std::string& pipe :
       {file_of("erin"), SealOf(file_of("bob")), DraftOf(file_of("erin")), files + "/notes.seal"}) {
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    kept.insert(pipe);
  }
  RemoveUnusedIndexes(rows_, files, /*stopping=*/false);
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(files)) found.insert(entry.path());
  EXPECT_EQ(found, kept);
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

TEST_F(MemoryIndexTest, ASearchThatTakesChangesOverEndsWhenTheServerStops) {
  const std::vector<float> vector = RandomVector();
  Put("alice", 1, vector);
  Commit();
  MemoryIndex index(rows_, "", kPlenty, kNearestMin);
  EXPECT_THAT(Found(index, Query("alice", vector)), SizeIs(1));
  index.Changed({Put("alice", 2, vector)});
  Commit();
  index.Stop();
  EXPECT_EQ(index.Search(Query("alice", vector)).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace agent_graph::state

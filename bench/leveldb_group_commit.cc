// Measures how many batches per second LevelDB itself commits when many writers queue up. Each
// batch holds the rows of a turn and is synced; LevelDB merges waiting writers into one log record
// and one fsync. Durable turns are compared with this rate. A directory that was used before keeps
// its rows, so that the database grows as that of the service does. Usage: leveldb_group_commit
// DIRECTORY WRITERS SECONDS. Prints batches per second.
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

// Text of the size of a UUID that does not compress and is spread over the table.
std::string Id(unsigned writer, unsigned turn, unsigned part) {
  std::string id;
  uint64_t mixed = (uint64_t{writer} << 40) + (uint64_t{turn} << 8) + part;
  while (id.size() < 36) {
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(mixed));
    id += text;
  }
  return id.substr(0, 36);
}

std::string Number(unsigned writer, unsigned turn) {
  char text[11];
  std::snprintf(text, sizeof text, "%03u%07u", writer, turn);
  return text;
}

// The rows that the first turn of a new thread writes in bench/run.py, with the sizes of their keys
// and values: first those of the beginning of the run, then those of its end.
void AddTurn(unsigned writer, unsigned turn, leveldb::WriteBatch& batch) {
  const std::string thread = Id(writer, turn, 0);
  const std::string run = Id(writer, turn, 1);
  const std::string number = Number(writer, turn);
  auto text = [&](size_t bytes) { return run + thread + std::string(bytes - 72, '.'); };
  batch.Put("t" + thread, text(100));
  batch.Put("listing" + number + thread.substr(0, 30), "");
  batch.Put("e" + number, text(159));

  batch.Put("t" + thread, text(100));
  batch.Delete("listing" + number + thread.substr(0, 30));
  batch.Put("listing" + number + thread.substr(6), "");
  batch.Put("c" + number, "12345678");
  batch.Put("w" + number, "1234");
  batch.Put("s" + number, text(97));
  batch.Put("g" + number + "1", text(577));
  for (unsigned message = 2; message < 4; ++message) {
    batch.Put("m" + number + std::to_string(message), text(302));
    batch.Put("i" + number + Id(writer, turn, message), "12");
  }
  batch.Put("r" + number + run, text(234));
  batch.Delete("e" + number);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  leveldb::Options options;
  options.create_if_missing = true;
  // As engine/state/leveldb/database/database.cc.
  options.write_buffer_size = 32 << 20;
  options.max_file_size = 1 << 20;
  leveldb::DB* opened = nullptr;
  if (!leveldb::DB::Open(options, argv[1], &opened).ok()) return 1;
  std::unique_ptr<leveldb::DB> database(opened);

  // New rows in each of several runs on the same directory.
  const auto first_turn = static_cast<unsigned>(std::time(nullptr) % 1000 * 10'000);
  std::atomic<long> turns{0};
  std::atomic<bool> stop{false};
  const int count = std::atoi(argv[2]);
  std::vector<std::thread> writers;
  writers.reserve(static_cast<size_t>(std::max(count, 0)));
  for (int writer = 0; writer < count; ++writer) {
    writers.emplace_back([&, writer] {
      leveldb::WriteOptions synced;
      synced.sync = true;
      for (unsigned turn = first_turn; !stop; ++turn) {
        leveldb::WriteBatch batch;
        AddTurn(static_cast<unsigned>(writer), turn, batch);
        if (!database->Write(synced, &batch).ok()) std::abort();
        ++turns;
      }
    });
  }
  auto seconds = std::atof(argv[3]);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (auto& writer : writers) writer.join();
  std::printf("%.0f\n", static_cast<double>(turns) / seconds);
}

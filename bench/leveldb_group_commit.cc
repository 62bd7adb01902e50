// The rate at which LevelDB itself commits synced batches of one turn's size when many writers
// queue up (it merges waiting writers into one log record and one fsync): the yardstick for durable
// turns. Usage: leveldb_group_commit DIRECTORY WRITERS SECONDS. Prints batches per second.
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  leveldb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 16 << 20;
  leveldb::DB* opened = nullptr;
  if (!leveldb::DB::Open(options, argv[1], &opened).ok()) return 1;
  std::unique_ptr<leveldb::DB> database(opened);

  // One durable turn is two commits, begin and finish; together about this many rows and bytes.
  constexpr int kRowsPerTurn = 12;
  const std::string value(240, 'v');
  std::atomic<long> turns{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int writer = 0; writer < std::atoi(argv[2]); ++writer) {
    writers.emplace_back([&, writer] {
      leveldb::WriteOptions synced;
      synced.sync = true;
      for (long turn = 0; !stop; ++turn) {
        for (int half = 0; half < 2; ++half) {
          leveldb::WriteBatch batch;
          for (int row = 0; row < kRowsPerTurn / 2; ++row) {
            batch.Put(std::to_string(writer) + "/" + std::to_string(turn) + "/" +
                          std::to_string(half * kRowsPerTurn + row),
                      value);
          }
          if (!database->Write(synced, &batch).ok()) std::abort();
        }
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

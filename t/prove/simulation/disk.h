// A disk in memory that survives the end of the state server, and a power cut up to what was
// synced. LevelDB uses it instead of its own environment in memory (see cmake/Prove.cmake).
#pragma once

#include <memory>

namespace leveldb {
class Env;
}

namespace agent_graph::simulation {

class Disk {
 public:
  // The disk that databases are opened on from now on, until it is destroyed. One at a time.
  Disk();
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // No database may be open. Everything that was written after a file's last sync is lost.
  void CutPower();

 private:
  class Files;
  friend leveldb::Env* OpenDisk(leveldb::Env*);
  std::unique_ptr<Files> files_;
};

}  // namespace agent_graph::simulation

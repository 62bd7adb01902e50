// Sees everything that was promised to clients, and checks it against what the database has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "state/leveldb/database/database.h"
#include "state/requests.h"
#include "state/runs.h"

namespace agent_graph::simulation {

// An entry of the log, as simulated workers write it: who has written what.
struct Signature {
  std::string client;
  std::string run_id;
  uint64_t epoch = 0;
  int64_t step = 0;
};
std::string TextOf(const Signature& signature);
std::optional<Signature> ReadSignature(const std::string& text);
// The custom field that a step of a run sets, and the list that every step appends to.
std::string FieldOf(const std::string& run_id, int64_t step);
inline constexpr char kListField[] = "all";

class Witness {
 public:
  // The first violation; empty: none.
  const std::string& violation() const { return violation_; }
  void Violate(const std::string& law, const std::string& what);

  // --- promises ---

  void Accepted(const std::string& thread_id, const state::RunRecord& run, const std::string& key);
  // A request with this key was sent, which would start this run.
  void Sent(const std::string& key, const std::string& run_id) { runs_of_key_[key].insert(run_id); }
  void Stopped(const std::string& thread_id) { stopped_threads_.insert(thread_id); }
  // A worker holds the lease. `state` has the changes of earlier attempts, of
  // which `steps_before` steps ended.
  void Begun(const std::string& thread_id, const Signature& worker, uint64_t thread_number,
             const state::ThreadState& state, int64_t steps_before);
  // The append of this step was acknowledged.
  void Stored(uint64_t thread_number, const Signature& step, bool durable);
  void Finished(uint64_t thread_number, const std::string& run_id);
  // The state refused the run's end, because the attempt had lost its lease.
  void EndRefused(uint64_t thread_number, const Signature& end) {
    refused_ends_.emplace(thread_number, TextOf(end));
  }
  void PowerCut();

  // --- checks ---

  // Call after each commit with the threads whose runs have changed.
  void Check(const state::Database& database, const std::vector<std::string>& thread_ids);
  // Call when everything has settled.
  void CheckEnd(const state::Database& database, const std::vector<std::string>& thread_ids);

 private:
  struct RunFacts {
    int64_t steps = 0;  // steps whose entries are in the log
    bool started = false;
    bool ended = false;
  };
  struct Log {
    uint64_t entries = 0;
    std::map<std::string, RunFacts> runs;
  };
  using RunName = std::pair<uint64_t, std::string>;  // number of the thread, run
  struct Promises {
    int64_t steps = 0;          // acknowledged
    int64_t durable_steps = 0;  // acknowledged after an fsync
    bool finished = false;
  };

  void Walk(const state::Database& database, const std::string& thread_id);
  void WalkEntry(uint64_t number, Log& log, const state::LogEntry& entry, uint64_t epoch);
  void CheckRuns(const state::Database& database, const std::string& thread_id, uint64_t number);
  void CheckRun(const state::RunRecord& record, const Promises& promised);
  void CheckFields(const state::Database& database, const std::string& thread_id, uint64_t number);
  void CheckKeys();

  std::string violation_;
  std::map<std::string, uint64_t> numbers_;                      // numbers of threads
  std::map<uint64_t, Log> logs_;                                 // by number of the thread
  std::map<std::pair<uint64_t, uint64_t>, std::string> epochs_;  // thread, epoch → worker
  std::map<RunName, Promises> promises_;
  std::map<RunName, std::string> accepted_;  // → thread id
  std::map<std::string, std::set<std::string>> runs_of_key_;
  std::map<std::string, std::string> acknowledged_key_;      // → run
  std::set<std::pair<uint64_t, std::string>> refused_ends_;  // thread, signature
  std::set<std::string> recorded_runs_;
  std::set<std::string> stopped_threads_;
};

}  // namespace agent_graph::simulation

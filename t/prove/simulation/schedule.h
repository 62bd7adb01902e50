// One schedule: a state server, two or three workers, clients and faults, in an order that the seed
// chooses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "prove/simulation/chance.h"
#include "prove/simulation/server.h"
#include "prove/simulation/witness.h"
#include "prove/simulation/worker.h"

namespace agent_graph::simulation {

struct Counts {
  uint64_t events = 0;
  uint64_t runs = 0;
  uint64_t worker_deaths = 0;
  uint64_t server_deaths = 0;
  uint64_t power_cuts = 0;
  uint64_t cut_connections = 0;
};

class Schedule {
 public:
  explicit Schedule(uint64_t seed);
  ~Schedule();

  // Returns the first violation; empty: none.
  std::string Run();
  const Counts& counts() const { return counts_; }

 private:
  // A client that starts a run, and repeats its request until it is answered.
  struct Starter {
    std::string thread_id;
    std::string key;  // empty: sends the request only once
    int64_t steps = 1;
    int64_t deadline_ms = 0;
    bool outstanding = false;
    bool answered = false;
  };
  // A client that reads a run to its end, through any worker.
  struct Reader {
    std::string thread_id;
    std::string run_id;
    uint64_t next = 0;
    bool has_first = false;
    std::string last_kind;
    bool outstanding = false;
    bool complete = false;
  };

  void Event();
  void Fault();
  void BreakStalledConnection(Worker& worker);
  void Burst();
  void ServerWrites(bool may_crash);
  Worker* AnyWorker();
  void NewStarter();
  void Ask(const std::shared_ptr<Starter>& starter);
  void OnAccepted(const std::shared_ptr<Starter>& starter, const state::Reply& reply);
  void NewReader(const std::string& thread_id, const std::string& run_id);
  void Follow(const std::shared_ptr<Reader>& reader);
  void OnFollowed(const std::shared_ptr<Reader>& reader, const state::Reply& reply);
  void TakeEntries(Reader& reader, const state::FollowRunReply& reply);
  void StartDirectRun();
  void StopSomething();
  std::string NewRunId() { return "run" + std::to_string(++runs_); }
  std::string AnyThread();

  // Ends all faults, and lets everything come to its end.
  void Settle();
  bool SettleRound();
  bool Waits() const;

  Chance chance_;
  Counts counts_;
  Witness witness_;
  Server server_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::shared_ptr<Starter>> starters_;
  std::vector<std::shared_ptr<Reader>> readers_;
  std::vector<std::string> threads_{"t0", "t1"};
  int runs_ = 0;
  int keys_ = 0;
  size_t server_deaths_left_ = 3;
};

}  // namespace agent_graph::simulation

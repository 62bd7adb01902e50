// A worker: a client of the state server that executes the runs that it is granted, and sends what
// clients of the API ask for. It does what engine/state/gateway/client and
// engine/state/calls/caller.cc do: numbers its requests, sends them again to the next server, and
// names the runs that it holds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "prove/simulation/chance.h"
#include "prove/simulation/server.h"
#include "prove/simulation/wire.h"
#include "prove/simulation/witness.h"
#include "state/calls/operations.h"
#include "state/runs.h"

namespace agent_graph::simulation {

class Worker {
 public:
  Worker(std::string name, Server& server, Chance& chance, Witness& witness)
      : name_(std::move(name)), server_(server), chance_(chance), witness_(witness) {}

  // Starts a process.
  void Boot();
  // kill -9.
  void Kill();
  // Loses a part of what is under way, in both directions.
  void CutConnection();
  void Freeze() { frozen_ = true; }
  void Thaw() { frozen_ = false; }
  // Gives its runs back and ends.
  void BeginToLeave();

  bool alive() const { return alive_; }
  bool takes_requests() const { return alive_ && !frozen_ && !leaving_; }
  // Does one thing: connects, receives a message, or executes the next step of a run. Returns false
  // if there is nothing to do.
  bool Act();

  // Sends a request of a client of the API. The client loses its connection if the worker dies.
  using OnReply = std::function<void(const state::Reply&)>;
  template <typename Body>
  void Call(state::Operation operation, const Body& body, OnReply on_reply) {
    (void)Send(operation, pack::ToBytes(body), std::move(on_reply), /*of_client=*/true);
  }
  // A run of a client that is connected to this worker.
  void RunDirectly(const std::string& thread_id, const std::string& run_id, int64_t steps,
                   int64_t run_ms_max);

 private:
  using RunName = std::pair<std::string, std::string>;  // thread, run
  struct Pending {
    Frame frame;
    OnReply on_reply;
    bool of_client = false;
    bool answer_kept = false;
  };
  struct Attempt {
    enum class Phase : uint8_t { kGranted, kBeginning, kReady, kWaiting, kEnding, kOver };
    RunName name;
    Phase phase = Phase::kGranted;
    bool accepted = true;
    bool continues = false;
    bool stops = false;
    bool late = false;  // has lost its lease, and appends once more
    int64_t steps = 0;
    int64_t next_step = 0;
    int64_t run_ms_max = 0;
    uint64_t granted_epoch = 0;
    uint64_t epoch = 0;
    uint64_t thread_number = 0;
    uint64_t entries = 0;  // entries of this attempt
    nlohmann::json fields = nlohmann::json::object();
    nlohmann::json list = nlohmann::json::array();
    std::vector<std::string> changed;
    std::vector<uint64_t> changed_at;
  };
  using AttemptPtr = std::shared_ptr<Attempt>;

  uint64_t Send(state::Operation operation, std::string body, OnReply on_reply,
                bool of_client = false);
  void Connect();
  void Receive(state::ClientMessage message);
  void OnGrant(const state::GrantedRun& granted);
  bool Execute();
  void Advance(const AttemptPtr& attempt);
  void Begin(const AttemptPtr& attempt);
  void OnBegun(const AttemptPtr& attempt, const state::Reply& reply);
  void AppendStep(const AttemptPtr& attempt);
  state::AppendRunRequest AppendOf(Attempt& attempt) const;
  void AddStep(Attempt& attempt, state::AppendRunRequest& append) const;
  void Finish(const AttemptPtr& attempt);
  void GiveBack(const AttemptPtr& attempt);
  void Lose(const AttemptPtr& attempt);
  // Does nothing if a later attempt was granted meanwhile.
  void Unhold(const Attempt& attempt);
  void Release(const AttemptPtr& attempt);
  Signature SignatureOf(const Attempt& attempt) const;
  uint64_t AcknowledgedBelow() const;

  const std::string name_;
  Server& server_;
  Chance& chance_;
  Witness& witness_;
  int incarnation_ = 0;
  std::string client_;
  int64_t process_ = 0;
  bool alive_ = false;
  bool frozen_ = false;
  bool leaving_ = false;
  bool welcomed_ = false;
  bool refusal_sent_ = false;
  WirePtr wire_;
  uint64_t next_sequence_ = 1;
  std::map<uint64_t, Pending> pending_;
  std::map<RunName, uint64_t> held_;  // → epoch of the grant; 0: of a client's run
  std::vector<AttemptPtr> attempts_;
};

}  // namespace agent_graph::simulation

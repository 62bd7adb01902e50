#include "prove/simulation/schedule.h"

#include <algorithm>

#include "prove/simulation/virtual_time.h"

namespace agent_graph::simulation {
namespace {

using state::Operation;
using std::chrono::milliseconds;

constexpr size_t kEventsMin = 10;
constexpr size_t kEventsMore = 31;
constexpr int64_t kContinuedMicros = int64_t{3600} * 1'000'000;
// Longer than the store waits before it grants a run again to the worker that gave it back.
constexpr int kStalledTurns = 4;
constexpr milliseconds kStalledTurn{400};

}  // namespace

Schedule::Schedule(uint64_t seed) : chance_(seed), server_(chance_) {
  ResetTime();
  ResetProcesses();
  const size_t workers = 2 + chance_.Below(2);
  for (size_t i = 0; i < workers; ++i) {
    workers_.push_back(
        std::make_unique<Worker>("w" + std::to_string(i), server_, chance_, witness_));
  }
}

Schedule::~Schedule() {
  if (server_.running()) server_.Crash(false);
}

std::string Schedule::Run() {
  if (!server_.Start()) return "the state server does not start";
  for (const auto& worker : workers_) worker->Boot();
  NewStarter();
  const size_t events = kEventsMin + chance_.Below(kEventsMore);
  for (size_t i = 0; i < events && witness_.violation().empty(); ++i) {
    Event();
    Burst();
    ++counts_.events;
  }
  if (witness_.violation().empty()) Settle();
  return witness_.violation();
}

void Schedule::Event() {
  switch (chance_.Below(10)) {
    case 0:
      return NewStarter();
    case 1: {
      // A client repeats a request although it was answered.
      const auto& starter = starters_[chance_.Below(starters_.size())];
      if (!starter->key.empty()) Ask(starter);
      return;
    }
    case 2:
      return chance_.OneIn(2) ? StartDirectRun() : StopSomething();
    case 3:
      PassTime(milliseconds(1 + chance_.Below(1500)));
      return;
    case 4:
    case 5:
    case 6:
      return Fault();
    default:
      return;
  }
}

void Schedule::Fault() {
  Worker& worker = *workers_[chance_.Below(workers_.size())];
  switch (chance_.Below(13)) {
    case 0:
    case 1:
    case 2:
      ++counts_.worker_deaths;
      worker.Kill();
      if (chance_.OneIn(2)) worker.Boot();
      return;
    case 3:
    case 4:
      ++counts_.cut_connections;
      return worker.CutConnection();
    case 5:
      return chance_.OneIn(2) ? worker.Freeze() : worker.Thaw();
    case 6:
      return worker.BeginToLeave();
    case 7:
      for (const auto& one : workers_) {
        if (!one->alive()) one->Boot();
      }
      return;
    case 8:
      // Longer than a silent worker is waited for.
      for (int second = 0; second < 15; ++second) {
        PassTime(std::chrono::seconds(1));
        if (server_.running()) ServerWrites(false);
      }
      return;
    case 9:
      return StopSomething();
    case 10:
      return BreakStalledConnection(worker);
    default:
      if (!server_.running()) {
        (void)server_.Start();
      } else if (server_deaths_left_ > 0) {
        ServerWrites(true);
      }
  }
}

// The server receives what the worker has sent and acts on it; its answers are lost.
void Schedule::BreakStalledConnection(Worker& worker) {
  ++counts_.cut_connections;
  for (int i = 0; i < kStalledTurns && server_.running(); ++i) {
    PassTime(kStalledTurn);
    ServerWrites(false);
  }
  worker.CutConnection();
}

void Schedule::Burst() {
  const size_t length = 2 + chance_.Below(12);
  for (size_t i = 0; i < length; ++i) {
    switch (chance_.Below(5)) {
      case 0:
      case 1:
        if (server_.running()) ServerWrites(false);
        break;
      case 2:
        if (server_.running()) server_.Read();
        break;
      default:
        (void)workers_[chance_.Below(workers_.size())]->Act();
    }
  }
  for (const auto& starter : starters_) {
    if (!starter->answered && !starter->outstanding) Ask(starter);
  }
  for (const auto& reader : readers_) {
    if (!reader->complete && !reader->outstanding) Follow(reader);
  }
}

void Schedule::ServerWrites(bool may_crash) {
  const std::vector<std::string> changed = server_.Write(may_crash);
  if (server_.running()) return witness_.Check(server_.database(), changed);
  --server_deaths_left_;
  ++counts_.server_deaths;
  if (!server_.lost_power()) return;
  // The machine has stopped, with all processes.
  ++counts_.power_cuts;
  for (const auto& worker : workers_) worker->Kill();
  witness_.PowerCut();
  // Readers may have seen entries that were not stored, so they read again.
  for (const auto& reader : readers_) {
    reader->next = 0;
    reader->has_first = false;
    reader->last_kind.clear();
  }
}

Worker* Schedule::AnyWorker() {
  std::vector<Worker*> ready;
  for (const auto& worker : workers_) {
    if (worker->takes_requests()) ready.push_back(worker.get());
  }
  return ready.empty() ? nullptr : ready[chance_.Below(ready.size())];
}

std::string Schedule::AnyThread() {
  return threads_[chance_.Below(threads_.size())];
}

void Schedule::NewStarter() {
  auto starter = std::make_shared<Starter>();
  starter->thread_id = AnyThread();
  if (!chance_.OneIn(3)) starter->key = "key" + std::to_string(++keys_);
  starter->steps = static_cast<int64_t>(1 + chance_.Below(3));
  if (chance_.OneIn(4)) starter->deadline_ms = static_cast<int64_t>(1000 + chance_.Below(20'000));
  starters_.push_back(starter);
  Ask(starter);
}

void Schedule::Ask(const std::shared_ptr<Starter>& starter) {
  Worker* const worker = AnyWorker();
  if (worker == nullptr) return;
  state::AcceptRunRequest accept;
  accept.begin.thread_id = starter->thread_id;
  accept.begin.run_id = NewRunId();
  accept.request = std::to_string(starter->steps);
  accept.continued_until_micros = NowMicros() + kContinuedMicros;
  if (starter->deadline_ms > 0) accept.deadline_micros = NowMicros() + starter->deadline_ms * 1000;
  if (!starter->key.empty()) {
    accept.key = state::RunKey{"/runs", starter->key, "body"};
    witness_.Sent(starter->key, accept.begin.run_id);
  }
  starter->outstanding = true;
  worker->Call(Operation::kAcceptRun, accept,
               [this, starter](const state::Reply& reply) { OnAccepted(starter, reply); });
}

void Schedule::OnAccepted(const std::shared_ptr<Starter>& starter, const state::Reply& reply) {
  using Outcome = state::AcceptRunReply::Outcome;
  starter->outstanding = false;
  state::AcceptRunReply answer;
  const bool read = reply.status.ok() && pack::FromBytes(reply.body, answer);
  // Without a key a client that has lost its connection does not know what happened.
  starter->answered = starter->answered || read || starter->key.empty();
  if (!read || answer.outcome == Outcome::kRunDeleted) return;
  if (answer.outcome == Outcome::kAccepted) ++counts_.runs;
  witness_.Accepted(starter->thread_id, answer.run, starter->key);
  if (chance_.OneIn(2)) NewReader(starter->thread_id, answer.run.run_id);
}

void Schedule::StartDirectRun() {
  Worker* const worker = AnyWorker();
  if (worker == nullptr) return;
  const int64_t run_ms_max = chance_.OneIn(2) ? 0 : 3000;
  worker->RunDirectly(AnyThread(), NewRunId(), static_cast<int64_t>(1 + chance_.Below(3)),
                      run_ms_max);
}

void Schedule::StopSomething() {
  Worker* const worker = AnyWorker();
  if (worker == nullptr) return;
  state::StopRequest stop;
  stop.thread_id = AnyThread();
  stop.cancel = chance_.OneIn(2);
  witness_.Stopped(stop.thread_id);
  worker->Call(Operation::kRequestStop, stop, [](const state::Reply&) {});
}

}  // namespace agent_graph::simulation

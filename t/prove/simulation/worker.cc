#include "prove/simulation/worker.h"

#include <algorithm>

#include "prove/simulation/trace.h"
#include "prove/simulation/virtual_time.h"

namespace agent_graph::simulation {

using state::Operation;

namespace {

constexpr uint64_t kRunsPerPassingFailure = 40;

}  // namespace

void Worker::Boot() {
  client_ = name_ + "." + std::to_string(++incarnation_);
  process_ = StartProcess();
  alive_ = true;
  frozen_ = false;
  leaving_ = false;
  refusal_sent_ = false;
  next_sequence_ = 1;
  wire_ = nullptr;
  Trace([&] { return client_ + " starts"; });
}

void Worker::Kill() {
  if (!alive_) return;
  Trace([&] { return client_ + " ends"; });
  alive_ = false;
  EndProcess(process_);
  if (wire_ != nullptr) {
    // A request may have been cut in the middle.
    if (!wire_->up.empty() && chance_.OneIn(2)) wire_->up.pop_back();
    wire_->up.push_back({.kind = Frame::Kind::kEnd});
    wire_->down.clear();
  }
  wire_ = nullptr;
  welcomed_ = false;
  held_.clear();
  attempts_.clear();
  const auto pending = std::exchange(pending_, {});
  for (const auto& [sequence, lost] : pending) {
    if (!lost.of_client) continue;
    lost.on_reply({sequence, Status(StatusCode::kUnavailable, "the connection broke"), {}});
  }
}

void Worker::CutConnection() {
  if (wire_ == nullptr) return;
  Trace([&] { return client_ + " loses its connection"; });
  while (!wire_->up.empty() && chance_.OneIn(2)) wire_->up.pop_back();
  wire_->up.push_back({.kind = Frame::Kind::kEnd});
  wire_->down.clear();
  wire_ = nullptr;
  welcomed_ = false;
}

void Worker::BeginToLeave() {
  leaving_ = true;
}

void Worker::Connect() {
  wire_ = server_.Connect(client_);
  welcomed_ = false;
  state::ClientHello hello;
  hello.client = client_;
  hello.process = process_;
  hello.process_start = 1;
  for (const auto& [name, epoch] : held_) hello.held.push_back({name.first, name.second, epoch});
  hello.answers_pings = true;
  hello.takes_runs = !leaving_;
  wire_->up.push_back({.kind = Frame::Kind::kHello, .hello = std::move(hello)});
}

uint64_t Worker::AcknowledgedBelow() const {
  const auto oldest =
      std::ranges::find_if(pending_, [](const auto& one) { return one.second.answer_kept; });
  return oldest == pending_.end() ? next_sequence_ : oldest->first;
}

uint64_t Worker::Send(state::Operation operation, std::string body, OnReply on_reply,
                      bool of_client) {
  Frame frame;
  frame.header.sequence = next_sequence_;
  frame.header.acknowledged_below = AcknowledgedBelow();
  frame.header.operation = operation;
  frame.header.micros = NowMicros();
  frame.body = std::move(body);
  if (wire_ != nullptr && welcomed_) wire_->up.push_back(frame);
  pending_.emplace(next_sequence_, Pending{std::move(frame), std::move(on_reply), of_client,
                                           state::IsAnswerKept(operation)});
  return next_sequence_++;
}

bool Worker::Act() {
  if (!alive_ || frozen_) return false;
  if (wire_ != nullptr && wire_->cut) wire_ = nullptr;
  if (wire_ == nullptr) {
    if (!server_.running()) return false;
    Connect();
    return true;
  }
  const bool executes = !attempts_.empty() && chance_.OneIn(2);
  if (executes && Execute()) return true;
  if (!wire_->down.empty()) {
    state::ClientMessage message = std::move(wire_->down.front());
    wire_->down.pop_front();
    Receive(std::move(message));
    return true;
  }
  if (Execute()) return true;
  if (!leaving_ || !welcomed_) return false;
  if (!refusal_sent_) {
    refusal_sent_ = true;
    wire_->up.push_back({.kind = Frame::Kind::kRefuseGrants});
    return true;
  }
  if (!attempts_.empty() || !pending_.empty()) return false;
  wire_->up.push_back({.kind = Frame::Kind::kLeave});
  Kill();
  return true;
}

void Worker::Receive(state::ClientMessage message) {
  if (std::holds_alternative<state::Welcome>(message)) {
    welcomed_ = true;
    for (const auto& [sequence, pending] : pending_) wire_->up.push_back(pending.frame);
  } else if (const auto* reply = std::get_if<state::Reply>(&message)) {
    Trace([&] {
      return client_ + " gets the reply to " + std::to_string(reply->sequence) + ": " +
             reply->status.ToString();
    });
    const auto found = pending_.find(reply->sequence);
    if (found == pending_.end()) return;
    const OnReply on_reply = std::move(found->second.on_reply);
    pending_.erase(found);
    if (on_reply) on_reply(*reply);
  } else if (const auto* granted = std::get_if<state::GrantedRun>(&message)) {
    OnGrant(*granted);
  } else if (const auto* cancel = std::get_if<state::CancelRun>(&message)) {
    for (const AttemptPtr& attempt : attempts_) {
      if (attempt->name == RunName(cancel->thread_id, cancel->run_id)) attempt->stops = true;
    }
  } else if (std::holds_alternative<state::Ping>(message)) {
    wire_->up.push_back({.kind = Frame::Kind::kPong});
  }
}

void Worker::OnGrant(const state::GrantedRun& granted) {
  const RunName name(granted.thread_id, granted.run_id);
  Trace([&] {
    return client_ + " is granted " + granted.run_id + ", attempt " +
           std::to_string(granted.attempt) + ", step " + std::to_string(granted.step);
  });
  held_[name] = granted.lease_epoch;
  // An attempt that has lost its lease may still be executing.
  for (const AttemptPtr& attempt : attempts_) {
    if (attempt->name == name) attempt->late = true;
  }
  auto attempt = std::make_shared<Attempt>();
  attempt->name = name;
  attempt->granted_epoch = granted.lease_epoch;
  attempt->continues = !granted.current_node.empty();
  attempt->steps = std::stoll(granted.request);
  attempt->next_step = attempt->continues ? granted.step : 0;
  attempts_.push_back(attempt);
}

void Worker::RunDirectly(const std::string& thread_id, const std::string& run_id, int64_t steps,
                         int64_t run_ms_max) {
  auto attempt = std::make_shared<Attempt>();
  attempt->name = {thread_id, run_id};
  attempt->accepted = false;
  attempt->steps = steps;
  attempt->run_ms_max = run_ms_max;
  held_[attempt->name] = 0;
  attempts_.push_back(attempt);
}

bool Worker::Execute() {
  std::vector<AttemptPtr> ready;
  std::ranges::copy_if(attempts_, std::back_inserter(ready), [](const AttemptPtr& attempt) {
    return attempt->phase == Attempt::Phase::kGranted || attempt->phase == Attempt::Phase::kReady;
  });
  if (ready.empty()) return false;
  Advance(ready[chance_.Below(ready.size())]);
  return true;
}

void Worker::Advance(const AttemptPtr& attempt) {
  if (attempt->late) {
    if (attempt->phase == Attempt::Phase::kReady) AppendStep(attempt);
    return Lose(attempt);
  }
  // A worker that stays gives a run back, too, if it fails for a temporary reason.
  const bool gives_back = leaving_ || chance_.OneIn(kRunsPerPassingFailure);
  if (gives_back && attempt->accepted) return GiveBack(attempt);
  if (attempt->phase == Attempt::Phase::kGranted) return Begin(attempt);
  if (attempt->next_step < attempt->steps && !attempt->stops) return AppendStep(attempt);
  Finish(attempt);
}

void Worker::Lose(const AttemptPtr& attempt) {
  attempt->phase = Attempt::Phase::kOver;
  std::erase(attempts_, attempt);
}

void Worker::Unhold(const Attempt& attempt) {
  const auto held = held_.find(attempt.name);
  if (held != held_.end() && held->second <= attempt.granted_epoch) held_.erase(held);
}

void Worker::Release(const AttemptPtr& attempt) {
  const auto& [thread_id, run_id] = attempt->name;
  Send(Operation::kReleaseRun,
       pack::ToBytes(state::ReleaseRunRequest{thread_id, run_id, attempt->granted_epoch}),
       [this, attempt](const state::Reply&) { Unhold(*attempt); });
}

Signature Worker::SignatureOf(const Attempt& attempt) const {
  return {client_, attempt.name.second, attempt.epoch, attempt.next_step};
}

}  // namespace agent_graph::simulation

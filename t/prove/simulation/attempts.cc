// Worker: the attempts of runs that it executes, as engine/run does.
#include <algorithm>

#include "prove/simulation/trace.h"
#include "prove/simulation/worker.h"

namespace agent_graph::simulation {

using state::Operation;

void Worker::Begin(const AttemptPtr& attempt) {
  attempt->phase = Attempt::Phase::kBeginning;
  state::BeginRunRequest begin;
  begin.thread_id = attempt->name.first;
  begin.run_id = attempt->name.second;
  begin.run_ms_max = attempt->run_ms_max;
  begin.granted = attempt->accepted;
  begin.granted_epoch = attempt->granted_epoch;
  Send(Operation::kBeginRun, pack::ToBytes(begin),
       [this, attempt](const state::Reply& reply) { OnBegun(attempt, reply); });
}

void Worker::OnBegun(const AttemptPtr& attempt, const state::Reply& reply) {
  if (attempt->phase != Attempt::Phase::kBeginning) return;
  state::BeginRunReply begun;
  if (reply.status.ok() && pack::FromBytes(reply.body, begun)) {
    attempt->epoch = begun.lease_epoch;
    attempt->thread_number = begun.thread_number;
    attempt->phase = Attempt::Phase::kReady;
    Trace([&] {
      return client_ + " has begun " + attempt->name.second + ", epoch " +
             std::to_string(attempt->epoch);
    });
    attempt->fields = nlohmann::json::parse(begun.state.snapshot.fields_json);
    attempt->list = attempt->fields.value(kListField, nlohmann::json::array());
    if (attempt->late) return;
    witness_.Begun(attempt->name.first, SignatureOf(*attempt), begun.thread_number, begun.state,
                   attempt->next_step);
    return;
  }
  const StatusCode code = reply.status.code();
  const bool refused = code == StatusCode::kBusy || code == StatusCode::kConflict ||
                       code == StatusCode::kPermissionDenied;
  if (refused) {
    Unhold(*attempt);
  } else {
    Release(attempt);
  }
  if (attempt->accepted) return GiveBack(attempt);
  Lose(attempt);
}

state::AppendRunRequest Worker::AppendOf(Attempt& attempt) const {
  state::AppendRunRequest append;
  append.thread_id = attempt.name.first;
  append.run_id = attempt.name.second;
  append.lease_epoch = attempt.epoch;
  append.first_entry = attempt.entries;
  append.current_node = "NODE" + std::to_string(attempt.next_step);
  append.step = attempt.next_step;
  if (attempt.entries == 0) {
    const char* kind = attempt.continues ? "attempt_started" : "run_started";
    append.entries.push_back({kind, TextOf(SignatureOf(attempt)), 0});
  }
  return append;
}

void Worker::AddStep(Attempt& attempt, state::AppendRunRequest& append) const {
  const std::string field = FieldOf(attempt.name.second, attempt.next_step);
  const uint64_t position = attempt.entries + append.entries.size();
  state::StateEffect effect;
  effect.fields.push_back({.name = field, .value_json = "true", .position = position});
  effect.fields.push_back({.name = kListField,
                           .kind = state::FieldEffect::Kind::kAppend,
                           .value_json = nlohmann::json(field).dump(),
                           .length = attempt.list.size(),
                           .position = position});
  append.entries.push_back({"step", TextOf(SignatureOf(attempt)), 0, std::move(effect)});
  attempt.fields[field] = true;
  attempt.list.push_back(field);
  attempt.changed.push_back(field);
  attempt.changed_at.push_back(position);
  ++attempt.next_step;
  append.step = attempt.next_step;
  append.current_node = "NODE" + std::to_string(attempt.next_step);
}

void Worker::AppendStep(const AttemptPtr& attempt) {
  state::AppendRunRequest append = AppendOf(*attempt);
  const Signature signature = SignatureOf(*attempt);
  AddStep(*attempt, append);
  append.durable = chance_.OneIn(2);
  attempt->entries += append.entries.size();
  // The intent of a tool is on the disk before the tool is called; other entries may be under way
  // while the run goes on.
  const bool waits = append.durable || chance_.OneIn(2);
  if (waits) attempt->phase = Attempt::Phase::kWaiting;
  Send(Operation::kAppendRun, pack::ToBytes(append),
       [this, attempt, signature, waits, durable = append.durable](const state::Reply& reply) {
         state::AppendRunReply answer;
         if (reply.status.ok() && pack::FromBytes(reply.body, answer)) {
           witness_.Stored(attempt->thread_number, signature, durable);
           attempt->stops = attempt->stops || answer.stop_requested;
           if (waits && attempt->phase == Attempt::Phase::kWaiting) {
             attempt->phase = Attempt::Phase::kReady;
           }
           return;
         }
         if (reply.status.code() == StatusCode::kFenced) Unhold(*attempt);
         Lose(attempt);
       });
}

void Worker::Finish(const AttemptPtr& attempt) {
  attempt->phase = Attempt::Phase::kEnding;
  state::FinishRunRequest finish;
  finish.append = AppendOf(*attempt);
  finish.append.entries.push_back({"run_finished", TextOf(SignatureOf(*attempt)), 0});
  finish.append.durable = true;
  finish.status = attempt->stops ? "stopped" : "done";
  if (!attempt->changed.empty()) {
    for (const std::string& field : attempt->changed) finish.changed_fields.push_back(field);
    finish.changed_at = attempt->changed_at;
    finish.changed_fields.emplace_back(kListField);
    finish.changed_at.push_back(attempt->changed_at.back());
  }
  attempt->fields[kListField] = attempt->list;
  finish.snapshot.fields_json = attempt->fields.dump();
  const Signature end = SignatureOf(*attempt);
  Send(Operation::kFinishRun, pack::ToBytes(finish),
       [this, attempt, end](const state::Reply& reply) {
         const bool fenced = reply.status.code() == StatusCode::kFenced;
         if (reply.status.ok()) witness_.Finished(attempt->thread_number, attempt->name.second);
         if (fenced) witness_.EndRefused(attempt->thread_number, end);
         if (reply.status.ok() || fenced) {
           Unhold(*attempt);
         } else {
           Release(attempt);
         }
         Lose(attempt);
       });
}

// A fiber of the run may not have noticed yet that the run is given back, and appends once more.
void Worker::GiveBack(const AttemptPtr& attempt) {
  const bool appends_late = attempt->phase == Attempt::Phase::kReady && chance_.OneIn(2);
  const auto& [thread_id, run_id] = attempt->name;
  Send(Operation::kHandOverRun,
       pack::ToBytes(state::HandOverRunRequest{thread_id, run_id, attempt->granted_epoch}),
       [this, attempt](const state::Reply&) { Unhold(*attempt); });
  if (appends_late) AppendStep(attempt);
  Lose(attempt);
}

}  // namespace agent_graph::simulation

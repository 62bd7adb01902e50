#include "prove/simulation/witness.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "state/rows/rows.h"
#include "state/rules/lost_run.h"
#include "state/thread/run_read.h"
#include "state/thread/thread_read.h"

namespace agent_graph::simulation {
namespace {

constexpr char kOneEpoch[] = "one epoch writes";
constexpr char kGapless[] = "entries are gapless";
constexpr char kOnce[] = "each step is stored once, in order";
constexpr char kKept[] = "nothing acknowledged is lost";
constexpr char kAcknowledged[] = "what is stored is acknowledged";
constexpr char kEnds[] = "every accepted run ends";
constexpr char kFolded[] = "state is the fold of the log";
constexpr char kOneRun[] = "each key starts one run";

}  // namespace

std::string TextOf(const Signature& signature) {
  return signature.client + ' ' + signature.run_id + ' ' + std::to_string(signature.epoch) + ' ' +
         std::to_string(signature.step);
}

std::optional<Signature> ReadSignature(const std::string& text) {
  Signature signature;
  std::istringstream in(text);
  in >> signature.client >> signature.run_id >> signature.epoch >> signature.step;
  if (in.fail()) return std::nullopt;
  return signature;
}

std::string FieldOf(const std::string& run_id, int64_t step) {
  return run_id + "/" + std::to_string(step);
}

void Witness::Violate(const std::string& law, const std::string& what) {
  if (violation_.empty()) violation_ = law + ": " + what;
}

void Witness::Accepted(const std::string& thread_id, const state::RunRecord& run,
                       const std::string& key) {
  accepted_[{run.thread_number, run.run_id}] = thread_id;
  if (key.empty()) return;
  const auto [known, is_new] = acknowledged_key_.try_emplace(key, run.run_id);
  if (!is_new && known->second != run.run_id) {
    Violate(kOneRun, key + " started " + known->second + " and " + run.run_id);
  }
}

void Witness::Begun(const std::string& thread_id, const Signature& worker, uint64_t thread_number,
                    const state::ThreadState& state, int64_t steps_before) {
  std::string text = worker.client;
  text += ' ';
  text += worker.run_id;
  const auto [owner, is_new] = epochs_.try_emplace({thread_number, worker.epoch}, text);
  if (!is_new && owner->second != text) {
    Violate(kOneEpoch, "epoch " + std::to_string(worker.epoch) + " of " + thread_id +
                           " was given to " + owner->second + " and to " + text);
  }
  const auto fields = nlohmann::json::parse(state.snapshot.fields_json);
  for (int64_t step = 0; step < steps_before; ++step) {
    const std::string field = FieldOf(worker.run_id, step);
    if (!fields.contains(field)) Violate(kFolded, "the next attempt does not see " + field);
  }
}

void Witness::Stored(uint64_t thread_number, const Signature& step, bool durable) {
  Promises& promised = promises_[{thread_number, step.run_id}];
  promised.steps = std::max(promised.steps, step.step + 1);
  if (durable) promised.durable_steps = std::max(promised.durable_steps, step.step + 1);
}

void Witness::Finished(uint64_t thread_number, const std::string& run_id) {
  Promises& promised = promises_[{thread_number, run_id}];
  promised.finished = true;
  promised.durable_steps = promised.steps;
}

void Witness::PowerCut() {
  logs_.clear();
  // Epochs of leases that were not synced are given again; the workers that had them are gone.
  epochs_.clear();
  numbers_.clear();
  for (auto& [name, promised] : promises_) promised.steps = promised.durable_steps;
}

void Witness::Check(const state::Database& database, const std::vector<std::string>& thread_ids) {
  for (const std::string& thread_id : thread_ids) Walk(database, thread_id);
}

void Witness::Walk(const state::Database& database, const std::string& thread_id) {
  const state::DatabaseSnapshot snapshot(database);
  const Result<state::ThreadRow> thread =
      state::ReadThread(snapshot, state::Scope::All(), thread_id);
  if (!thread.ok()) {
    const auto number = numbers_.find(thread_id);
    if (number != numbers_.end()) Violate(kKept, thread_id + " has gone");
    return;
  }
  numbers_[thread_id] = thread->number;
  const uint64_t before = logs_[thread->number].entries;
  Log& log = logs_[thread->number] = {};
  uint64_t last_epoch = 0;
  const std::string prefix = state::keys::ThreadPrefix(state::keys::Table::kLog, thread->key());
  (void)snapshot.Scan(
      prefix, state::keys::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        state::keys::Parser parser(key, state::keys::Table::kLog);
        parser.Thread();
        const uint64_t last = parser.Integer();
        state::LogRow row;
        if (!state::pack::FromBytes(value, row)) return false;
        if (last + 1 != log.entries + row.entries.size()) {
          Violate(kGapless, thread_id + " has a gap at " + std::to_string(log.entries));
        }
        if (row.lease_epoch < last_epoch) {
          Violate(kOneEpoch, thread_id + " has an entry of an earlier epoch behind a later one");
        }
        last_epoch = row.lease_epoch;
        for (const state::LogEntry& entry : row.entries) {
          WalkEntry(thread->number, log, entry, row.lease_epoch);
        }
        log.entries = last + 1;
        return true;
      });
  if (log.entries < before) Violate(kKept, "the log of " + thread_id + " has become shorter");
  for (const auto& [name, promised] : promises_) {
    if (name.first != thread->number) continue;
    if (log.runs[name.second].steps < promised.steps) {
      Violate(kKept, "an acknowledged step of " + name.second + " is not in the log");
    }
  }
}

void Witness::WalkEntry(uint64_t number, Log& log, const state::LogEntry& entry, uint64_t epoch) {
  const std::optional<Signature> writer = ReadSignature(entry.json);
  if (!writer) return;  // the state server wrote it about a lost run
  const std::string& run_id = writer->run_id;
  RunFacts& run = log.runs[run_id];
  if (writer->epoch != epoch) {
    Violate(kOneEpoch, run_id + " has written with epoch " + std::to_string(writer->epoch) +
                           " under the lease " + std::to_string(epoch));
  }
  const auto owner = epochs_.find({number, epoch});
  if (owner != epochs_.end() && owner->second != writer->client + ' ' + run_id) {
    Violate(kOneEpoch, TextOf(*writer) + " has written with the epoch of " + owner->second);
  }
  if (run.ended) Violate(kOneEpoch, "an entry of " + run_id + " follows its end");
  if (entry.kind == "run_started" && std::exchange(run.started, true)) {
    Violate(kOnce, run_id + " has started twice");
  } else if (entry.kind == "step" && writer->step != run.steps++) {
    Violate(kOnce, "step " + std::to_string(writer->step) + " of " + run_id + " comes after " +
                       std::to_string(run.steps - 1) + " steps");
  } else if (entry.kind == "run_finished") {
    run.ended = true;
    if (refused_ends_.contains({number, entry.json})) {
      Violate(kAcknowledged, "the end of " + run_id + " was stored and refused");
    }
  }
}

void Witness::CheckEnd(const state::Database& database,
                       const std::vector<std::string>& thread_ids) {
  recorded_runs_.clear();
  for (const std::string& thread_id : thread_ids) {
    Walk(database, thread_id);
    const state::DatabaseSnapshot snapshot(database);
    const Result<state::ThreadRow> thread =
        state::ReadThread(snapshot, state::Scope::All(), thread_id);
    if (!thread.ok()) continue;
    CheckRuns(database, thread_id, thread->number);
    CheckFields(database, thread_id, thread->number);
  }
  for (const auto& [name, thread] : accepted_) {
    if (!recorded_runs_.contains(name.second)) {
      Violate(kKept, "the accepted run " + name.second + " has gone");
    }
  }
  CheckKeys();
}

void Witness::CheckRuns(const state::Database& database, const std::string& thread_id,
                        uint64_t number) {
  const state::DatabaseSnapshot snapshot(database);
  state::ListRunsRequest list;
  list.thread_id = thread_id;
  const Result<state::RunPage> page = state::ReadRunPage(snapshot, list);
  if (!page.ok()) return Violate(kKept, "the runs of " + thread_id + " cannot be read");
  for (const state::RunRecord& record : page->runs) {
    recorded_runs_.insert(record.run_id);
    CheckRun(record, promises_[{number, record.run_id}]);
  }
}

void Witness::CheckRun(const state::RunRecord& record, const Promises& promised) {
  if (!state::HasEnded(record.state)) return Violate(kEnds, record.run_id + " has not ended");
  const bool done = record.state == state::RunState::kDone;
  if (promised.finished && !done && record.state != state::RunState::kStopped) {
    Violate(kKept, record.run_id + " was finished and has the reason " + record.reason);
  }
  const bool may_end_early =
      record.reason == state::kDeadlineReason || stopped_threads_.contains(record.thread_id);
  if (record.accepted && !done && !may_end_early) {
    Violate(kEnds, "the accepted run " + record.run_id + " has the reason " + record.reason);
  }
}

// Everything that is in the log is in the state, whatever has happened to the workers.
void Witness::CheckFields(const state::Database& database, const std::string& thread_id,
                          uint64_t number) {
  const state::DatabaseSnapshot snapshot(database);
  const Result<state::ThreadRow> thread =
      state::ReadThread(snapshot, state::Scope::All(), thread_id);
  const Result<state::ThreadState> state = state::ReadState(snapshot, thread_id, *thread);
  if (!state.ok()) return Violate(kFolded, "the state of " + thread_id + " cannot be read");
  if (state->in_flight) Violate(kEnds, state->in_flight->run_id + " still holds its thread");
  const auto fields = nlohmann::json::parse(state->snapshot.fields_json);
  const auto list = fields.value(kListField, nlohmann::json::array());
  for (const auto& [run_id, run] : logs_[number].runs) {
    for (int64_t step = 0; step < run.steps; ++step) {
      const std::string field = FieldOf(run_id, step);
      if (!fields.contains(field)) Violate(kFolded, "the state lacks " + field);
      if (std::ranges::count(list, nlohmann::json(field)) != 1) {
        Violate(kFolded, "the list does not have " + field + " once");
      }
    }
  }
}

void Witness::CheckKeys() {
  for (const auto& [key, runs] : runs_of_key_) {
    const auto started = std::ranges::count_if(
        runs, [&](const std::string& run_id) { return recorded_runs_.contains(run_id); });
    if (started > 1) Violate(kOneRun, key + " has started " + std::to_string(started) + " runs");
  }
}

}  // namespace agent_graph::simulation

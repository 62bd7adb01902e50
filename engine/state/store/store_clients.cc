// Store: clients that have disconnected or do not respond.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "state/store/store.h"

namespace agent_graph::state {
namespace {

// Check interval for clients whose connection ended before their process did.
constexpr std::chrono::milliseconds kOrphanCheckInterval{20};
constexpr std::chrono::seconds kClientCheckInterval{1};

std::string ProcessName(const ClientEntry& entry) {
  return "process " + std::to_string(entry.process);
}

std::string ThreadCount(size_t count) {
  return std::to_string(count) + (count == 1 ? " thread" : " threads");
}

}  // namespace

void Store::CheckClients(MonotonicClock::time_point now) {
  next_client_check_ = kNoDeadline;
  for (auto it = clients_.begin(); it != clients_.end();) {
    auto& [id, entry] = *it;
    if (entry.connection != 0) {
      ++it;
      continue;
    }
    const bool gone = entry.ProcessGone();
    // A worker that leaves may have to exit while functions still run.
    if (gone) LoseLeasesOf(id, nullptr, /*crashed=*/entry.connected_here && entry.takes_runs);
    const auto absent = now - entry.disconnected;
    const bool retained = absent < kReplyRetention;
    if (!retained) ForgetReplies(id, entry);
    const bool holds = std::any_of(leases_.begin(), leases_.end(), [&id = id](const auto& lease) {
      return lease.second.row.client == id;
    });
    if (gone || (!retained && !holds)) {
      ForgetReplies(id, entry);
      it = clients_.erase(it);
      continue;
    }
    const bool fresh = absent < kReconnectGrace;
    next_client_check_ = std::min(
        next_client_check_, now + (fresh ? Duration(kOrphanCheckInterval) : kClientCheckInterval));
    ++it;
  }
}

void Store::OnPong(const std::string& client, uint64_t connection) {
  if (ClientEntry* const entry = FindClient(client, connection)) SetHeard(*entry);
}

void Store::SetHeard(ClientEntry& entry) {
  entry.pings_unanswered = 0;
  if (!std::exchange(entry.silent, false)) return;
  reports_.push_back({LogLevel::kNotice, ProcessName(entry) + " answers again"});
}

void Store::PingHolders(MonotonicClock::time_point now) {
  next_ping_ = leases_.empty() ? kNoDeadline : now + kPingInterval;
  MeasureWaits();
  std::unordered_map<std::string, size_t> holders;
  for (const auto& [thread_id, lease] : leases_) {
    ++holders[lease.row.client];
    for (const Waiter& waiter : lease.waiters) holders.try_emplace(waiter.from.client, 0);
  }
  for (const auto& [id, leases] : holders) {
    auto found = clients_.find(id);
    if (found == clients_.end()) continue;
    ClientEntry& entry = found->second;
    if (entry.connection == 0) {
      if (now - entry.disconnected >= kReconnectGrace) SetSilent(id, entry, leases, now);
    } else if (entry.pings_unanswered >= kPingsUnansweredMax) {
      SetSilent(id, entry, leases, now);
    } else if (entry.answers_pings) {
      ++entry.pings_unanswered;
      Notify(entry.connection, Ping{});
    }
  }
  EndOverdueLeases(now);
}

// Also refuses the runs that the client waits for, and takes back those that it has not begun: it
// would not execute them.
void Store::SetSilent(const std::string& client, ClientEntry& entry, size_t leases,
                      MonotonicClock::time_point now) {
  if (std::exchange(entry.silent, true)) return;
  entry.silent_since = now;
  std::string text = ProcessName(entry) + " does not answer";
  if (leases > 0) {
    text += ": " + ThreadCount(leases) + " locked until the deadlines of its runs, or its end";
  }
  reports_.push_back({LogLevel::kAlert, std::move(text)});
  RefuseWaitersOf(client, Status(StatusCode::kUnavailable, "the worker did not answer"));
  TakeGrantsBack(client);
}

void Store::TakeGrantsBack(const std::string& client) {
  std::vector<std::string> unbegun;
  for (const auto& [thread_id, lease] : leases_) {
    const bool is_unbegun = lease.accepted && !lease.has_begun() && !lease.is_lost;
    if (is_unbegun && lease.row.client == client && IsOurs(lease)) unbegun.push_back(thread_id);
  }
  AddLostLeases(std::move(unbegun), Loss::kGivenBack);
}

void Store::EndOverdueLeases(MonotonicClock::time_point now) {
  std::vector<std::string> overdue;
  for (const auto& [thread_id, lease] : leases_) {
    auto client = clients_.find(lease.row.client);
    if (client == clients_.end() || !client->second.silent || lease.is_lost) continue;
    const int64_t deadline = lease.row.deadline_micros;
    const bool over = deadline > 0 ? MonotonicMicros(now) >= deadline
                                   : now - client->second.silent_since >= kSilenceMax;
    if (over) overdue.push_back(thread_id);
  }
  for (const std::string& thread_id : overdue) {
    const LeaseRow lease = leases_.at(thread_id).row;
    reports_.push_back({LogLevel::kNotice, "run " + lease.run_id +
                                               " of a process that does not answer has "
                                               "reached its deadline: its thread is free"});
    NoticeCancel(lease);
  }
  AddLostLeases(std::move(overdue), Loss::kLeft);
}

}  // namespace agent_graph::state

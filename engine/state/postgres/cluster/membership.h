// This host as one of the instances that share a database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "state/postgres/cluster/database_clock.h"
#include "state/postgres/cluster/observer.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state::postgres {

// A notice to an instance from another one that has changed the data: stop or cancel a run, forget
// a thread. Membership does not interpret `kind` and `body`.
struct Notice {
  int64_t id = 0;
  int32_t kind = 0;
  std::string body;
};

struct MembershipOptions {
  ConnectionOptions database;
  // Keeps the instance's id for the next state server of this host; see Identity. Empty: the id
  // ends with this process.
  std::string identity_file;
  std::string host;     // for operators
  std::string channel;  // see HostLink; empty: this instance receives no messages
  std::string version;  // version of this build
  // Executed by a Join that makes a new id while no other instance lives.
  std::vector<Command> when_alone = {};
  std::function<MonotonicClock::time_point()> now = MonotonicClock::now;
  // Set by Join and by each beat.
  std::shared_ptr<DatabaseClock> clock = std::make_shared<DatabaseClock>();
};

// For one thread; calls block on the database.
//
// Join makes this host an instance. Beat, about once a second, keeps it alive, receives notices
// and finds dead instances. If the others have declared this one dead, its leases may belong to
// them: the caller then ends its runs and joins again, with a new id.
class Membership {
 public:
  static constexpr std::chrono::seconds kBeatInterval{1};
  static constexpr size_t kNoticesMax = 1000;  // returned by one beat

  explicit Membership(MembershipOptions options);

  // Adopts the id of the last state server of this host, or makes a new one. Its incarnation is
  // higher than any before, so that an earlier owner of the id is refused. Waits for transactions
  // that the earlier owner has in progress; kUnavailable: they take longer than the lock timeout.
  Status Join();

  struct News {
    // The others have declared this instance dead, or another process has adopted its id.
    bool lost = false;
    // Notices that no earlier beat has returned. The next beat acknowledges them, so act on them
    // first.
    std::vector<Notice> notices;
    // There may be further notices: the next beat should follow soon.
    bool may_have_more = false;
    // All dead instances whose rows still exist: their leases may be taken.
    std::vector<std::string> dead;
    // The instances in `dead` that this beat has declared dead.
    std::vector<std::string> declared_dead;
  };
  // Fails if the beat was not committed. A failed beat may be repeated at once.
  Result<News> Beat();

  // Declares this instance dead: no process of this host continues it, so the others need not wait.
  // The next Join makes a new id. Works after Interrupt, on any thread once no other call runs.
  // Fails while transactions of this instance are in progress.
  Status Leave();

  const std::string& id() const { return id_; }  // 32 hex digits; empty before Join
  const ConnectionOptions& database() const { return options_.database; }
  int64_t incarnation() const { return incarnation_; }
  // Larger for each Join of any instance, even if a failover has lost the latest epochs.
  uint64_t epoch() const { return epoch_; }
  // Changes when the database is restored from a backup.
  uint64_t history() const { return history_; }
  std::shared_ptr<const DatabaseClock> clock() const { return options_.clock; }
  // Ends a Beat or Join in progress and all later ones. Thread-safe.
  void Interrupt() { connection_.Interrupt(); }
  const Failure& failure() const { return connection_.failure(); }

 private:
  Result<bool> Adopt(const std::string& id);
  Status Create();
  Status CreateInTransaction(const std::string& id);
  Status ReadClock();
  void TakeClusterRow(const Row& row);
  Result<std::vector<Rows>> CommitBeat();
  // Returns true if this call has declared the peer dead: it was alive, and its beat unchanged.
  Result<bool> DeclareDead(const PeerBeat& peer);

  const MembershipOptions options_;
  Connection connection_;
  Observer observer_;
  std::string id_;
  int64_t incarnation_ = 0;
  uint64_t epoch_ = 0;
  uint64_t history_ = 0;
  uint64_t session_ = 0;  // session of the last committed beat
  std::string server_;    // server that committed it
  std::vector<int64_t> to_acknowledge_;
};

// Sends a notice; part of the sender's transaction. Does nothing for an instance that is dead.
Command SendNotice(const std::string& instance, int32_t kind, std::string_view body);

// Part of each transaction that writes for an instance: returns a row only if it lives, and it
// cannot be declared dead until the transaction ends. Does not wait for beats.
Command HoldInstance(const std::string& instance, int64_t incarnation);

// Removes rows of instances that have been dead for an hour, except those that still have leases:
// `is_used` is SQL with the name instance.id that is true for such an instance; empty: none is.
Command RemoveDeadInstances(const std::string& is_used = {});

}  // namespace agent_graph::state::postgres

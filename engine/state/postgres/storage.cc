#include "state/postgres/storage.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "base/version.h"
#include "state/postgres/cluster/host_link.h"
#include "state/postgres/cluster/membership.h"
#include "state/postgres/database/connection.h"
#include "state/postgres/host_executor.h"
#include "state/postgres/import/imports_finished.h"
#include "state/postgres/memories/memory_changes.h"
#include "state/postgres/rows/row_database.h"
#include "state/postgres/schema/migration.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"
#include "state/store/memory_rows.h"

namespace agent_graph::state {
namespace {

constexpr std::chrono::milliseconds kBackoffMin{50};
constexpr std::chrono::milliseconds kBackoffMax{1000};
// An executor whose predecessor was opened less than this time ago, and has failed already, does
// not reopen at once.
constexpr std::chrono::milliseconds kSoon{2000};
constexpr std::chrono::milliseconds kReopenMin{1000};
constexpr std::chrono::milliseconds kReopenMax{5000};
// Maximum of problems that are remembered as logged. The server's texts may differ each time.
constexpr size_t kReportedMax = 32;

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "";
}

class PostgresStorage : public Storage {
 public:
  PostgresStorage(StateOptions options, std::shared_ptr<postgres::ConnectionCounters> counters)
      : options_(std::move(options)), counters_(std::move(counters)) {}

  // Also starts the executor. If the database becomes unreachable meanwhile, Open waits and tries
  // again.
  Result<std::unique_ptr<Executor>> Open(OpenOptions open) override {
    for (auto backoff = kBackoffMin;; backoff = std::min(backoff * 2, kBackoffMax)) {
      Result<std::unique_ptr<Executor>> executor = OpenOnce(open);
      Status started = executor.ok() ? (*executor)->Start() : executor.status();
      if (started.ok()) {
        reported_.clear();
        return executor;
      }
      const bool may_come_back =
          started.code() == StatusCode::kUnavailable || started.code() == StatusCode::kFenced;
      if (!may_come_back) return started;
      Report(started);
      if (!open.wait(backoff)) return started;
    }
  }

 private:
  Result<std::unique_ptr<Executor>> OpenOnce(const OpenOptions& open) {
    AG_ASSIGN_OR_RETURN(std::unique_ptr<postgres::Membership> membership, JoinWhenReachable(open));

    postgres::RowDatabaseOptions database_options;
    database_options.connection = Connections();
    // Executing a large batch on a busy machine takes time between its reads and its writes.
    database_options.connection.idle_in_transaction_timeout = std::chrono::seconds(5);
    database_options.connection.counters = counters_;
    database_options.status = options_.database_status;
    database_options.identity = {membership->id(), static_cast<uint64_t>(membership->incarnation()),
                                 membership->history()};
    database_options.now = [clock = membership->clock()] { return clock->Now(); };
    auto database = std::make_unique<postgres::RowDatabase>(database_options);

    StoreExecutorOptions options;
    options.state = options_;
    options.on_failed = open.on_failed;
    options.epoch = membership->epoch();
    options.reopen_after = NextPause();
    auto memories = std::make_shared<postgres::SharedMemoryRows>(
        std::make_shared<StoredMemoryRows>(*database), Connections());
    options.memory_rows = memories;
    return std::unique_ptr<Executor>(std::make_unique<postgres::HostExecutor>(
        std::move(database), options, std::move(membership), std::move(memories)));
  }

  // Returns how long the next executor waits before it is replaced. A lost connection is replaced
  // at once, but a failure that lasts, such as a full database, would otherwise make the host leave
  // and join several times a second.
  std::chrono::milliseconds NextPause() {
    const auto now = MonotonicClock::now();
    const bool soon = now < opened_ + pause_ + kSoon;
    pause_ = soon ? std::clamp(pause_ * 2, kReopenMin, kReopenMax) : std::chrono::milliseconds{0};
    opened_ = now;
    return pause_;
  }

  postgres::ConnectionOptions Connections() const {
    postgres::ConnectionOptions options;
    options.url = options_.database_url;
    options.waits_for_disk = options_.sync != SyncLevel::kNone;
    return options;
  }

  // An unreachable database does not count as a failure: clients wait for the next executor.
  Result<std::unique_ptr<postgres::Membership>> JoinWhenReachable(const OpenOptions& open) {
    for (auto backoff = kBackoffMin;; backoff = std::min(backoff * 2, kBackoffMax)) {
      // A new one each time: it continues the instance that the one before has joined as.
      std::unique_ptr<postgres::Membership> membership = NewMembership();
      const Status joined = Join(*membership);
      if (joined.ok()) return membership;
      if (joined.code() != StatusCode::kUnavailable) return joined;
      Report(joined);
      if (!open.wait(backoff)) return joined;
    }
  }

  std::unique_ptr<postgres::Membership> NewMembership() const {
    postgres::MembershipOptions options;
    options.database = Connections();
    options.identity_file = options_.directory + "/instance";
    options.host = HostName();
    options.version = kVersion;
    options.channel = postgres::NewChannelName();
    // Remote tools are valid until nginx ends, on all hosts. The first host that starts removes
    // those of before.
    options.when_alone = {{"DELETE FROM agent_graph.meta WHERE key = $1",
                           {postgres::Value::Bytes(keys::Meta(kRemoteToolsName))}}};
    return std::make_unique<postgres::Membership>(std::move(options));
  }

  // Logs each problem once until the database is used again.
  void Report(const Status& problem) {
    std::string text = NotAvailable(options_.directory, "", problem);
    if (!options_.log || reported_.contains(text)) return;
    options_.log(LogLevel::kAlert, text);
    if (reported_.size() < kReportedMax) reported_.insert(std::move(text));
  }

  // Adds the key of service.json to the text of a failure, because the operator has to check either
  // the database or this key.
  Status Join(postgres::Membership& membership) const {
    Status joined = JoinDatabase(membership);
    if (joined.ok()) return joined;
    Status named(joined.code(), "checkpointer.url: " + joined.message());
    return named.WithDetail(joined.detail());
  }

  Status JoinDatabase(postgres::Membership& membership) const {
    postgres::Connection connection(Connections());
    AG_RETURN_IF_ERROR(postgres::CheckSchema(connection));
    AG_RETURN_IF_ERROR(postgres::CheckRights(connection));
    AG_RETURN_IF_ERROR(postgres::CheckImportsFinished(connection));
    AG_RETURN_IF_ERROR(membership.Join());
    // An import that has begun before Join has not seen this host.
    Status finished = postgres::CheckImportsFinished(connection);
    // Not if the session has ended meanwhile: the next Join continues the instance, which may have
    // runs, and they would be lost.
    if (finished.code() == StatusCode::kNotConfigured) (void)membership.Leave();
    return finished;
  }

  const StateOptions options_;
  const std::shared_ptr<postgres::ConnectionCounters> counters_;
  std::set<std::string> reported_;
  MonotonicClock::time_point opened_;  // when the latest executor was opened
  std::chrono::milliseconds pause_{0};
};

}  // namespace

std::unique_ptr<Storage> MakePostgresStorage(const StateOptions& options) {
  return MakeCountedPostgresStorage(
      options, std::shared_ptr<ConnectionCounters>(options.database_status,
                                                   &options.database_status->connections));
}

std::unique_ptr<Storage> MakeCountedPostgresStorage(
    const StateOptions& options, std::shared_ptr<postgres::ConnectionCounters> counters) {
  return std::make_unique<PostgresStorage>(options, std::move(counters));
}

}  // namespace agent_graph::state

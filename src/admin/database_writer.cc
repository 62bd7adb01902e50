#include "admin/database_writer.h"

#include <utility>

#include "admin/database.h"
#include "base/clock.h"
#include "base/version.h"
#include "runtime/thread.h"
#include "state/postgres/import/imports_finished.h"
#include "state/postgres/schema/migration.h"

namespace agent_graph::admin {

using state::postgres::Membership;
using state::postgres::RowDatabase;

Result<std::unique_ptr<DatabaseWriter>> DatabaseWriter::Open(const std::string& url,
                                                             const std::string& purpose) {
  state::postgres::Connection connection(MaintenanceOptions(url));
  AG_RETURN_IF_ERROR(state::postgres::CheckSchema(connection));
  state::postgres::MembershipOptions member;
  member.database = MaintenanceOptions(url);
  member.host = purpose;
  member.version = kVersion;
  auto membership = std::make_unique<Membership>(std::move(member));
  AG_RETURN_IF_ERROR(membership->Join());
  const Status finished = state::postgres::CheckImportsFinished(connection);
  if (!finished.ok()) {
    (void)membership->Leave();
    return finished;
  }
  state::postgres::RowDatabaseOptions options;
  options.connection = MaintenanceOptions(url);
  options.identity = {membership->id(), static_cast<uint64_t>(membership->incarnation()),
                      membership->history()};
  options.now = [clock = membership->clock()] { return clock->Now(); };
  std::unique_ptr<DatabaseWriter> writer(new DatabaseWriter());
  writer->database_ = std::make_unique<RowDatabase>(options);
  writer->membership_ = std::move(membership);
  AG_RETURN_IF_ERROR(
      runtime::StartThread(writer->beats_, "beats", [self = writer.get()] { self->Beat(); }));
  return writer;
}

DatabaseWriter::~DatabaseWriter() {
  if (membership_ != nullptr) Stop();
}

void DatabaseWriter::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  membership_->Interrupt();
  if (beats_.joinable()) beats_.join();
  // If this fails, the hosts notice by the missing beats that this writer has gone.
  (void)membership_->Leave();
}

void DatabaseWriter::Beat() {
  for (;;) {
    const Result<Membership::News> news = membership_->Beat();
    const Deadline next = DeadlineAfter(Membership::kBeatInterval);
    MutexLock lock(mutex_);
    // A beat that fails is repeated. If the database is gone, the caller's own statements say so.
    if (news.ok() && news->lost) lost_ = true;
    if (lost_) return;
    while (!stopping_ && stop_.WaitUntil(mutex_, next)) continue;
    if (stopping_) return;
  }
}

Status DatabaseWriter::CheckAlive() {
  MutexLock lock(mutex_);
  if (!lost_) return Status::Ok();
  return {StatusCode::kFenced,
          "the hosts that use the database took this program for dead: run it again"};
}

}  // namespace agent_graph::admin

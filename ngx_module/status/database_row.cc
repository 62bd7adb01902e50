#include "ngx_module/status/database_row.h"

#include "ngx_module/status/service_zone.h"

namespace agent_graph::nginx {

void ReportDatabase(const ServiceConfig& service, const state::DatabaseStatus& status) {
  ServiceZone* const zone = FindZone(service);
  if (zone == nullptr) return;
  DatabaseRow& row = zone->database;
  const state::ConnectionCounters& connections = status.connections;
  row.Set(DatabaseValue::kRoundTrips, connections.round_trips);
  row.Set(DatabaseValue::kSessions, connections.sessions);
  row.Set(DatabaseValue::kFailedAttempts, connections.failed_attempts);
  row.Set(DatabaseValue::kLostSessions, connections.lost_sessions);
  row.Set(DatabaseValue::kRetries, connections.retries);
  row.Set(DatabaseValue::kTimeouts, connections.timeouts);
  row.Set(DatabaseValue::kReadersBusy, status.readers_busy);
  row.Set(DatabaseValue::kReadersAwaited, status.readers_awaited);
  row.Set(DatabaseValue::kLastBeatMicros, static_cast<uint64_t>(status.last_beat_micros.load()));
  row.Set(DatabaseValue::kTakeovers, status.takeovers);
  row.Set(DatabaseValue::kAckedLost, status.acked_lost);
  row.Set(DatabaseValue::kFenced, status.fenced);
  row.Set(DatabaseValue::kLinkSent, status.link_sent);
  row.Set(DatabaseValue::kLinkReceived, status.link_received);
  row.Set(DatabaseValue::kLinkDropped, status.link_dropped);
  row.Set(DatabaseValue::kStandbys, status.standbys);
  row.Set(DatabaseValue::kStandbyLagMicros, status.standby_lag_micros);
  row.Set(DatabaseValue::kDeadRows, status.dead_rows);
  row.Set(DatabaseValue::kIsReported, 1);
}

}  // namespace agent_graph::nginx

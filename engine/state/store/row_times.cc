#include "state/store/row_times.h"

#include <limits>

#include "base/clock.h"
#include "state/store/clients.h"

namespace agent_graph::state {
namespace {

// Difference between the clock of the rows (Database::Now) and this machine's wall clock, in
// microseconds.
int64_t AheadOf(const Database& database) {
  return database.instance().empty() ? 0 : database.Now() - UnixMicros();
}

// The largest time means never.
int64_t Moved(int64_t micros, int64_t by) {
  if (micros == 0 || micros == std::numeric_limits<int64_t>::max()) return micros;
  return micros + by;
}

}  // namespace

int64_t RequestTime(const Database& database, int64_t client_micros) {
  return database.instance().empty() ? client_micros : database.Now();
}

int64_t ToRowTime(const Database& database, int64_t unix_micros) {
  return Moved(unix_micros, AheadOf(database));
}

int64_t ToUnixTime(const Database& database, int64_t row_micros) {
  return Moved(row_micros, -AheadOf(database));
}

int64_t ToMonotonicTime(const Database& database, int64_t row_micros) {
  return Moved(row_micros, MonotonicMicros(MonotonicClock::now()) - database.Now());
}

AcceptRunRequest WithRowTimes(const Database& database, AcceptRunRequest accept) {
  accept.deadline_micros = ToRowTime(database, accept.deadline_micros);
  accept.continued_until_micros = ToRowTime(database, accept.continued_until_micros);
  return accept;
}

}  // namespace agent_graph::state

// The shared memory of a service: the tables of the rate limit and of the token limit, and the
// status rows. It is kept over reloads; if one of the limits changes, new memory is allocated and
// initialized.
#pragma once

#include <string_view>

#include "limits/rate_table.h"
#include "ngx_module/config.h"
#include "ngx_module/ngx.h"
#include "ngx_module/status/database_row.h"
#include "ngx_module/status/status_rows.h"

namespace agent_graph::nginx {

struct ServiceZone {
  uint32_t row_count;
  StatusRow* rows;
  StatusCounters retired;  // counts of processes that have ended
  time_t looked;           // last search for dead processes when no place was free; under the lock
  DatabaseRow database;
  void* rate_table;   // null: no limit, or one table per worker
  void* token_table;  // a limits::TokenTable; null: no limit, or counted in Redis
};

// The number of worker processes, at least 1.
ngx_uint_t WorkerCount(const ServiceConfig& service);
// Null in processes that have no zone yet.
ServiceZone* FindZone(const ServiceConfig& service);

// Called while the configuration is read: requests new memory if the running nginx's zone does not
// fit the new configuration.
void ChooseZoneMemory(ngx_conf_t* cf, ngx_shm_zone_t* zone, const ServiceConfig& service);
// Called at the end of reading the configuration, in the master. False: failed, and the reason was
// logged.
bool PrepareZone(ngx_shm_zone_t* zone, const ServiceConfig& service);
// Called when the configuration is in force, before nginx frees the old one. nginx checks a flag of
// the new zone to decide whether to keep memory, and one of the old zone to decide whether to free
// it; this function makes both flags agree.
void ReplaceZone(ngx_cycle_t* cycle, ngx_shm_zone_t* zone);

// A lock on the zone. It uses the slab pool's mutex, the only lock that nginx releases when its
// holder dies.
class ZoneLock {
 public:
  explicit ZoneLock(const ServiceConfig& service);
  ~ZoneLock();
  ZoneLock(const ZoneLock&) = delete;
  ZoneLock& operator=(const ZoneLock&) = delete;

 private:
  ngx_slab_pool_t* const pool_;
};

}  // namespace agent_graph::nginx

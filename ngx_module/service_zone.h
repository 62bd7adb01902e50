// The shared memory of a service: the rate limit's table and the status rows. It is kept over
// reloads, and laid out anew, in fresh memory, when the rate limit changes.
#pragma once

#include <string_view>

#include "config.h"
#include "limits/rate_table.h"
#include "ngx.h"
#include "status_rows.h"

namespace agent_graph::nginx {

struct ServiceZone {
  uint32_t row_count;
  StatusRow* rows;
  StatusCounters retired;  // of processes that are gone
  time_t looked;           // for dead processes, for want of a place; under the lock
  void* rate_table;        // null: no limit, or one per worker
};

// Null in processes that have no zone yet.
ServiceZone* FindZone(const ServiceConfig& service);

// While the configuration is read: marks a zone of the running nginx that does not fit any more.
void ChooseZoneMemory(ngx_conf_t* cf, ngx_shm_zone_t* zone, const ServiceConfig& service);
// At the end of it, in the master. False: logged.
bool PrepareZone(ngx_shm_zone_t* zone, const ServiceConfig& service);
// Once the configuration is in force, before nginx lets go of the old one. nginx asks the new zone
// whether memory is kept, and the old one whether it is freed: this makes both say the same.
void ReplaceZone(ngx_cycle_t* cycle, ngx_shm_zone_t* zone);

// The only lock that nginx releases when its holder dies.
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

#include "ngx_module/status/service_zone.h"

#include <algorithm>
#include <new>

#include "base/ids.h"
#include "limits/token_table.h"

namespace agent_graph::nginx {
namespace {

using limits::RateLimitOptions;
using limits::RateTable;
using limits::TokenTable;

// The rows' share of the zone, 1/8: enough for the processes that a few reloads leave running.
constexpr size_t kRowsShare = 8;
constexpr size_t kShareRowsMax = 256;
constexpr size_t kAlignment = 64;

size_t Aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// The limit that is counted in the zone; null if there is none.
const RateLimitOptions* SharedLimit(const ServiceConfig& service) {
  if (service.settings == nullptr || !service.settings->rate_limit) return nullptr;
  const RateLimitOptions& options = *service.settings->rate_limit;
  bool here = options.scope == RateLimitOptions::Scope::kNginx &&
              options.backend == RateLimitOptions::Backend::kMemory;
  return here ? &options : nullptr;
}

const limits::TokenLimitOptions* SharedTokenLimit(const ServiceConfig& service) {
  if (service.settings == nullptr || !service.settings->token_limit) return nullptr;
  const limits::TokenLimitOptions& options = *service.settings->token_limit;
  return options.backend == limits::TokenLimitOptions::Backend::kMemory ? &options : nullptr;
}

ngx_slab_pool_t* PoolOf(const ngx_shm_zone_t* zone) {
  return reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
}

ServiceZone* ZoneIn(const ngx_shm_zone_t* zone) {
  return zone->shm.addr == nullptr ? nullptr : static_cast<ServiceZone*>(PoolOf(zone)->data);
}

// The zone of the same name in the running nginx; null if there is none.
ngx_shm_zone_t* FindOldZone(ngx_cycle_t* cycle, const ngx_shm_zone_t* zone) {
  ngx_cycle_t* old = cycle->old_cycle;
  if (old == nullptr) return nullptr;
  for (ngx_list_part_t* part = &old->shared_memory.part; part != nullptr; part = part->next) {
    auto* zones = static_cast<ngx_shm_zone_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i) {
      if (zones[i].tag == zone->tag && View(zones[i].shm.name) == View(zone->shm.name)) {
        return &zones[i];
      }
    }
  }
  return nullptr;
}

// During a reload, old and new workers need rows at the same time.
size_t RowsMin(const ServiceConfig& service) {
  return 2 * WorkerCount(service);
}

size_t HeadBytes(size_t rows) {
  return Aligned(sizeof(ServiceZone)) + Aligned(rows * sizeof(StatusRow));
}

// The bytes of the table of tokens: half of the room, within its bounds.
size_t TokensShare(const limits::TokenLimitOptions* tokens, size_t minimum, size_t room) {
  if (tokens == nullptr) return 0;
  const size_t half = room / 2 / kAlignment * kAlignment;
  return std::clamp(half, minimum, Aligned(TokenTable::BytesOf(TokenTable::kUsersMax)));
}

bool RefuseSize(ngx_shm_zone_t* zone, const ServiceConfig& service, size_t missing) {
  // nginx describes each page of a zone in the zone.
  const size_t pages = missing / ngx_pagesize + 1;
  const size_t size = zone->shm.size + missing + pages * sizeof(ngx_slab_page_t) + ngx_pagesize;
  ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                "agent_graph_service \"%s\": zone \"%V\" is too small for the configuration, it "
                "needs at least %uzk",
                service.name.c_str(), &zone->shm.name, (size + 1023) / 1024);
  return false;
}

// Memory of the running nginx is kept if worker_processes was not yet known when it was chosen.
void WarnOfMissingRows(const ngx_shm_zone_t* zone, const ServiceConfig& service,
                       const ServiceZone& content) {
  const size_t rows_min = RowsMin(service);
  // A single process needs one row.
  if (content.row_count >= rows_min || ngx_process == NGX_PROCESS_SINGLE) return;
  ngx_log_error(
      NGX_LOG_WARN, zone->shm.log, 0,
      "agent_graph_service \"%s\": zone \"%V\" has room for the counters of %uD workers, and "
      "%uz are needed during a reload: further workers are not counted, and refuse "
      "WebSockets if max_connections_total is set. Write worker_processes before the http "
      "block, or restart nginx",
      service.name.c_str(), &zone->shm.name, content.row_count, rows_min);
}

}  // namespace

ngx_uint_t WorkerCount(const ServiceConfig& service) {
  auto* core =
      reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(service.cycle->conf_ctx, ngx_core_module));
  return std::max<ngx_int_t>(1, core->worker_processes);
}

ServiceZone* FindZone(const ServiceConfig& service) {
  return service.zone == nullptr ? nullptr : ZoneIn(service.zone);
}

void ChooseZoneMemory(ngx_conf_t* cf, ngx_shm_zone_t* zone, const ServiceConfig& service) {
  const RateLimitOptions* limit = SharedLimit(service);
  const limits::TokenLimitOptions* tokens = SharedTokenLimit(service);
  const ngx_shm_zone_t* old = FindOldZone(cf->cycle, zone);
  if (old == nullptr) return;
  const ServiceZone* content = ZoneIn(old);
  const bool fits_limit =
      limit == nullptr || (content != nullptr && content->rate_table != nullptr &&
                           RateTable::Fits(content->rate_table, *limit));
  const bool fits_tokens =
      tokens == nullptr || (content != nullptr && content->token_table != nullptr &&
                            TokenTable::Fits(content->token_table, *tokens));
  // The number is 1 here if worker_processes follows the http block. PrepareZone then warns.
  const bool fits_workers = content == nullptr || content->row_count >= RowsMin(service);
  if (!fits_limit || !fits_tokens || !fits_workers) zone->noreuse = 1;
}

void ReplaceZone(ngx_cycle_t* cycle, ngx_shm_zone_t* zone) {
  if (!zone->noreuse) return;
  // Cleared, or the next reload would make nginx unmap this zone, which is then still in use.
  zone->noreuse = 0;
  // A single process (no master) keeps using the old configuration and its memory.
  if (ngx_process == NGX_PROCESS_SINGLE) return;
  if (ngx_shm_zone_t* old = FindOldZone(cycle, zone)) old->noreuse = 1;
}

bool PrepareZone(ngx_shm_zone_t* zone, const ServiceConfig& service) {
  ngx_slab_pool_t* pool = PoolOf(zone);
  if (pool->data != nullptr) {  // memory of the running nginx, already initialized
    WarnOfMissingRows(zone, service, *static_cast<ServiceZone*>(pool->data));
    return true;
  }

  const RateLimitOptions* limit = SharedLimit(service);
  const limits::TokenLimitOptions* tokens = SharedTokenLimit(service);
  const size_t table_min = limit == nullptr ? 0 : RateTable::BytesMin(*limit);
  const size_t table_max = limit == nullptr ? 0 : RateTable::BytesMax(*limit);
  const size_t tokens_min =
      tokens == nullptr ? 0 : Aligned(TokenTable::BytesOf(TokenTable::kUsersMin));
  const size_t available = pool->pfree * ngx_pagesize;
  const size_t rows_min = RowsMin(service);
  size_t rows =
      std::max(rows_min, std::min(zone->shm.size / kRowsShare / sizeof(StatusRow), kShareRowsMax));
  if (available < HeadBytes(rows) + table_min + tokens_min) rows = rows_min;
  const size_t head = HeadBytes(rows);
  if (available < head + table_min + tokens_min) {
    return RefuseSize(zone, service, head + table_min + tokens_min - available);
  }
  const size_t tokens_bytes = TokensShare(tokens, tokens_min, available - head - table_min);
  const size_t bytes = std::min(available - tokens_bytes, head + table_max) + tokens_bytes;
  auto* memory = static_cast<std::byte*>(ngx_slab_alloc(pool, bytes));
  if (memory == nullptr) return RefuseSize(zone, service, bytes);
  ngx_memzero(memory, head);
  auto* content = new (memory) ServiceZone{};
  content->row_count = static_cast<uint32_t>(rows);
  content->rows = new (memory + Aligned(sizeof(ServiceZone))) StatusRow[rows];
  if (tokens != nullptr) {
    content->token_table = memory + head;
    if (!TokenTable::Format(content->token_table, tokens_bytes, *tokens,
                            {RandomUint64(), RandomUint64()})) {
      ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                    "agent_graph_service \"%s\": the system has no lock for token_limit",
                    service.name.c_str());
      return false;
    }
  }
  if (limit != nullptr) {
    content->rate_table = memory + head + tokens_bytes;
    RateTable::Format(content->rate_table, bytes - head - tokens_bytes, *limit,
                      {RandomUint64(), RandomUint64()});
  }
  pool->data = content;
  return true;
}

ZoneLock::ZoneLock(const ServiceConfig& service) : pool_(PoolOf(service.zone)) {
  ngx_shmtx_lock(&pool_->mutex);
}

ZoneLock::~ZoneLock() {
  ngx_shmtx_unlock(&pool_->mutex);
}

}  // namespace agent_graph::nginx

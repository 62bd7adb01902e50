#include "ngx_module/status/duration_zone.h"

#include <cstring>
#include <new>
#include <optional>

#include "ngx_module/callback.h"

namespace agent_graph::nginx {
namespace {

constexpr size_t kSlots = NamedDurations::kNamesMax + 1;
static_assert(kSlots >= kCountOf<RouteClass>);

struct Slot {
  char name[NamedDurations::kNameBytesMax + 1];  // ends with 0
  DurationHistogram durations;
};

struct Table {
  std::atomic<uint32_t> used;  // slots that have a name
  Slot slots[kSlots];
};

struct DurationZone {
  Table tables[kCountOf<DurationKind>];
};

ngx_slab_pool_t* DurationPoolOf(const ngx_shm_zone_t* zone) {
  return reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
}

Table* FindTable(const ServiceConfig& service, DurationKind kind) {
  const ngx_shm_zone_t* zone = service.durations;
  if (zone == nullptr || zone->shm.addr == nullptr) return nullptr;
  auto* content = static_cast<DurationZone*>(DurationPoolOf(zone)->data);
  return content == nullptr ? nullptr : &content->tables[static_cast<size_t>(kind)];
}

// The name becomes visible with the count, so that a process that dies here leaves nothing behind.
uint32_t Append(Table& table, std::string_view name) {
  const uint32_t used = table.used.load(std::memory_order_relaxed);
  Slot& slot = table.slots[used];
  ngx_memzero(slot.name, sizeof(slot.name));
  memcpy(slot.name, name.data(), std::min(name.size(), sizeof(slot.name) - 1));
  table.used.store(used + 1, std::memory_order_release);
  return used;
}

std::optional<uint32_t> FindSlot(const Table& table, std::string_view name) {
  const uint32_t used = table.used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    if (table.slots[i].name == name) return i;
  }
  return std::nullopt;
}

// Routes have fixed slots, and the first name of the others is kOther.
void Format(DurationZone& zone) {
  for (DurationKind kind : {DurationKind::kRequest, DurationKind::kFirstChunk}) {
    for (size_t route = 0; route < kCountOf<RouteClass>; ++route) {
      Append(zone.tables[static_cast<size_t>(kind)], NameOf(static_cast<RouteClass>(route)));
    }
  }
  for (DurationKind kind : {DurationKind::kModelCall, DurationKind::kToolCall}) {
    Append(zone.tables[static_cast<size_t>(kind)], NamedDurations::kOther);
  }
  Append(zone.tables[static_cast<size_t>(DurationKind::kStateOperation)], "");
  Append(zone.tables[static_cast<size_t>(DurationKind::kDatabaseCommit)], "");
}

ngx_int_t PrepareDurations(ngx_shm_zone_t* zone, void*) noexcept {
  ngx_slab_pool_t* pool = DurationPoolOf(zone);
  if (pool->data != nullptr) return NGX_OK;  // memory of the running nginx
  void* memory = ngx_slab_calloc(pool, sizeof(DurationZone));
  if (memory == nullptr) return NGX_ERROR;
  auto* content = new (memory) DurationZone;
  Format(*content);
  pool->data = content;
  return NGX_OK;
}

// The place of a name, which is added if it is new. nullopt: not now, because another process adds
// one. nginx releases the lock of a process that dies.
std::optional<uint32_t> PlaceOf(const ServiceConfig& service, Table& table, std::string_view name) {
  if (std::optional<uint32_t> known = FindSlot(table, name)) return known;
  ngx_shmtx_t& mutex = DurationPoolOf(service.durations)->mutex;
  if (!ngx_shmtx_trylock(&mutex)) return std::nullopt;
  std::optional<uint32_t> place = FindSlot(table, name);
  if (!place) place = table.used < kSlots ? Append(table, name) : 0;
  ngx_shmtx_unlock(&mutex);
  return place;
}

}  // namespace

bool AddDurationZone(ngx_conf_t* cf, ServiceConfig& service) {
  ngx_str_t name = CopyToPool(cf->pool, "agent_graph_" + service.name + "_durations");
  if (name.data == nullptr) return false;
  // Some pages more, for the slab pool's own data.
  const size_t pages = sizeof(DurationZone) / ngx_pagesize + 8;
  ngx_shm_zone_t* zone =
      ngx_shared_memory_add(cf, &name, pages * ngx_pagesize, &ngx_http_agent_graph_module);
  if (zone == nullptr) return false;
  zone->init = PrepareDurations;
  zone->data = &service;
  service.durations = zone;
  return true;
}

void CountDuration(const ServiceConfig& service, DurationKind kind, RouteClass route,
                   int64_t micros) {
  Table* table = FindTable(service, kind);
  if (table == nullptr || micros < 0) return;
  table->slots[static_cast<size_t>(route)].durations.Add(static_cast<uint64_t>(micros));
}

std::vector<NamedCounts> ReadDurations(const ServiceConfig& service, DurationKind kind) {
  std::vector<NamedCounts> found;
  const Table* table = FindTable(service, kind);
  if (table == nullptr) return found;
  const uint32_t used = table->used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    const Slot& slot = table->slots[i];
    const DurationCounts counts = slot.durations.Read();
    if (counts.Total() > 0) found.push_back({slot.name, counts});
  }
  return found;
}

void DurationReporter::Report(const DurationHistogram& counted, std::string_view name,
                              Source& source) {
  Table* table = FindTable(service_, kind_);
  if (table == nullptr) return;
  const DurationCounts now = counted.Read();
  const DurationCounts more = now.Since(source.reported);
  if (more.Total() == 0) return;
  if (!source.has_slot) {
    const std::optional<uint32_t> place = PlaceOf(service_, *table, name);
    if (!place) return;
    source.slot = *place;
    source.has_slot = true;
  }
  table->slots[source.slot].durations.Add(more);
  source.reported = now;
}

void DurationReporter::Report(const NamedDurations& counted) {
  const size_t size = counted.size();
  if (sources_.size() < size) sources_.resize(size);
  for (size_t i = 0; i < size; ++i) Report(counted.At(i), counted.NameAt(i), sources_[i]);
}

void DurationReporter::Report(const DurationHistogram& counted) {
  if (sources_.empty()) sources_.resize(1);
  Report(counted, "", sources_[0]);
}

}  // namespace agent_graph::nginx

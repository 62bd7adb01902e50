// The bodies of the memory routes; see request_shapes.h.
#pragma once

#include <array>

#include "api/http/fields.h"
#include "memory/memory_store.h"

namespace agent_graph::api {

// For a search: an empty type matches every type.
inline constexpr auto kMemoryTypeFilters = [] {
  std::array<std::string_view, memory::kMemoryTypes.size() + 1> names{};
  for (size_t i = 0; i < memory::kMemoryTypes.size(); ++i) names[i + 1] = memory::kMemoryTypes[i];
  return names;
}();

inline constexpr int64_t kMemoryNumberMax = 1'000'000'000;

inline constexpr Field kMemoryType{.name = "memory_type",
                                   .type = FieldType::kChoice,
                                   .fallback = 0,
                                   .has_fallback = true,
                                   .choices = memory::kMemoryTypes};
inline constexpr Field kSearchLimit{
    .name = "limit",
    .type = FieldType::kInteger,
    .description = "Results to return; values above 1000 count as 1000",
    .minimum = 1,
    .maximum = kMemoryNumberMax,
    .fallback = 10,
    .has_fallback = true};
inline constexpr Field kMemoryListLimit{
    .name = "limit",
    .type = FieldType::kInteger,
    .description = "Memories to return; values above 1000 count as 1000",
    .minimum = 1,
    .maximum = kMemoryNumberMax,
    .fallback = 100,
    .has_fallback = true};
inline constexpr Field kRetrievalStrategy{.name = "retrieval_strategy",
                                          .type = FieldType::kChoice,
                                          .fallback = 0,
                                          .has_fallback = true,
                                          .choices = memory::kStrategies};
inline constexpr Field kDistanceMetric{.name = "distance_metric",
                                       .type = FieldType::kChoice,
                                       .fallback = 0,
                                       .has_fallback = true,
                                       .choices = memory::kMetrics};
inline constexpr Field kMaxTokens{
    .name = "max_tokens",
    .type = FieldType::kInteger,
    .description = "Maximum number of tokens in the contents of all results",
    .minimum = 1,
    .maximum = kMemoryNumberMax,
    .fallback = 4000,
    .has_fallback = true};

extern const FieldTable kStoreMemoryBody;
extern const FieldTable kSearchMemoriesBody;
extern const FieldTable kListMemoriesBody;
extern const FieldTable kForgetMemoriesBody;
extern const FieldTable kUpdateMemoryBody;
extern const FieldTable kMemoryBody;  // only config and options

}  // namespace agent_graph::api

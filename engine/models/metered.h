// Counts the calls of models, their duration and their tokens.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/named_durations.h"
#include "models/model.h"

namespace agent_graph::models {

// Totals over all models of a service; they only grow. Thread-safe.
struct ModelCounters {
  std::atomic<uint64_t> replies{0};
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> micros{0};  // total duration of both, including retries
  std::atomic<uint64_t> input_tokens{0};
  std::atomic<uint64_t> output_tokens{0};
  NamedDurations calls;  // by the name of the model in service.json
};

// A model that forwards calls and counts them as calls of `name`. `counters` must outlive it.
std::unique_ptr<ModelProvider> Metered(std::unique_ptr<ModelProvider> model, std::string_view name,
                                       ModelCounters& counters);

}  // namespace agent_graph::models

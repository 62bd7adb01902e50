// Models that tell how often, how long and with how many tokens they are called.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "models/model.h"

namespace agent_graph::models {

// Of all models of a service; only grows. Thread-safe.
struct ModelCounters {
  std::atomic<uint64_t> replies{0};
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> micros{0};  // how long both took in all, retries included
  std::atomic<uint64_t> input_tokens{0};
  std::atomic<uint64_t> output_tokens{0};
};

// Passes calls on and counts them. `counters` outlive it.
std::unique_ptr<ModelProvider> Metered(std::unique_ptr<ModelProvider> model,
                                       ModelCounters& counters);

}  // namespace agent_graph::models

// The epochs of leases, which fence the writes of earlier attempts of a run.
#pragma once

#include <cstdint>

namespace agent_graph::state {

// Bits of an epoch that count the leases of one thread. The bits above them are of its number: a
// thread that was deleted and a new one of the same id have different epochs.
inline constexpr unsigned kLeaseEpochBits = 24;

// The epoch below all leases of a thread.
constexpr uint64_t EpochBelow(uint64_t thread_number) {
  return (thread_number - 1) << kLeaseEpochBits;
}

// False if one of them is not known (0). Epochs of two threads have no order, because hosts take
// the numbers of threads in advance.
constexpr bool AreOfTwoThreads(uint64_t epoch, uint64_t other) {
  return epoch != 0 && other != 0 && epoch >> kLeaseEpochBits != other >> kLeaseEpochBits;
}

}  // namespace agent_graph::state

// The only source of randomness of a schedule: the same seed gives the same schedule.
#pragma once

#include <cstddef>
#include <cstdint>

namespace agent_graph::simulation {

class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}

  // SplitMix64.
  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  // In [0, bound).
  size_t Below(size_t bound) { return static_cast<size_t>(Next() % bound); }
  bool OneIn(size_t count) { return Below(count) == 0; }

 private:
  uint64_t state_;
};

}  // namespace agent_graph::simulation

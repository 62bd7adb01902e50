#include "facades/run/held_bytes.h"

#include <algorithm>

#include "bridge/exchange.h"

namespace agent_graph::facades {
namespace {

constexpr uint64_t kStep = 64 * 1024;

}  // namespace

void HeldBytes::Set(uint64_t bytes) {
  const bool has_grown_little = bytes >= counted_ && bytes < counted_ + kStep;
  if (exchange_ == nullptr || has_grown_little) return;
  const uint64_t others = exchange_->held_bytes() - std::min(counted_, exchange_->held_bytes());
  exchange_->Hold(others + bytes);
  counted_ = bytes;
}

}  // namespace agent_graph::facades

// The format of a stored state: a number in one of its rows. A version refuses a state with a
// higher number than its own, because it would misread what a later version has written.
//
// New facts get tables of their own, which earlier versions neither read nor delete, and need no
// new number. Versions from before the number open every state.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "state/rows/transaction.h"

namespace agent_graph::state {

inline constexpr char kFormatName[] = "format";  // of the Meta row
inline constexpr uint64_t kStateFormat = 1;

// Stages the number if the state has none. kUnavailable: a later version has written the state. A
// number that cannot be read is ignored.
Status TakeFormat(Transaction& transaction);

}  // namespace agent_graph::state

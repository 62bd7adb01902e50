#include "state/leveldb/clients.h"

#include "base/process.h"

namespace agent_graph::state {

bool ClientEntry::ProcessGone() const {
  return process_start != 0 && ProcessEnded(process, process_start);
}

}  // namespace agent_graph::state

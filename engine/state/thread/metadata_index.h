// The index of threads by values of their metadata: rows that lead from a value to the threads that
// have it, the latest first, like the listings.
#pragma once

#include <string>

#include "state/rows/rows.h"
#include "state/rows/transaction.h"

namespace agent_graph::state {

// Brings the index rows of a thread to its record. Does nothing if no metadata is indexed.
void IndexThread(Transaction& transaction, const std::string& thread_id, const ThreadRow& row);

// Removes the index rows of a thread, whatever is indexed now.
void UnindexThread(Transaction& transaction, const std::string& thread_id, const ThreadRow& row);

}  // namespace agent_graph::state

// Records of runs that were stopped while they waited.
#include <string>
#include <vector>

#include "store_fixture.h"

namespace agent_graph::state {
namespace {

class QueuedRecordsTest : public StoreTest {
 protected:
  size_t Records() {
    size_t records = 0;
    const std::string prefix = keys::TablePrefix(keys::Table::kRun);
    EXPECT_TRUE(database_
                    ->Scan(prefix, keys::PrefixEnd(prefix),
                           [&](std::string_view, std::string_view) {
                             ++records;
                             return true;
                           })
                    .ok());
    return records;
  }
};

TEST_F(QueuedRecordsTest, AreBounded) {
  uint64_t sequence = 0;
  Apply(++sequence, Operation::kBeginRun, RunOn("t", "", "run"));
  for (int i = 0; i < 1500; ++i) {
    AcceptRunRequest accept;
    accept.begin = RunOn("t", "", Numbered("queued", i));
    Apply(++sequence, Operation::kAcceptRun, accept);
    Apply(++sequence, Operation::kRequestStop,
          StopRequest{Scope::All(), "t", true, accept.begin.run_id});
    for (const StoreReply& reply : Commit()) ASSERT_TRUE(reply.status.ok());
  }
  EXPECT_GE(Records(), kRunsKeptMax);
  EXPECT_LE(Records(), kRunsKeptMax + 200);
}

}  // namespace
}  // namespace agent_graph::state

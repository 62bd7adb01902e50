// Invariants of the entries of a run's log: an entry that breaks one ends the process.
#include <gtest/gtest.h>

#include "run/log/log_entry.h"

namespace agent_graph::run {
namespace {

TEST(LogEntryDeathTest, EachUpdateHasItsEffect) {
  entry::StateUpdate update{.node = "A", .updates = {{"a", "1"}}, .summary = std::nullopt};
  update.effect.emplace();
  EXPECT_DEATH((void)Encode(update, 0), "each update has its effect");
}

TEST(LogEntryDeathTest, AnEntryOfAnUnknownKindIsNotWritten) {
  EXPECT_DEATH((void)Encode(entry::Unknown{}, 0), "an entry of an unknown kind is not written");
}

}  // namespace
}  // namespace agent_graph::run

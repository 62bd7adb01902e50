// Rows that older versions have written.
#include <gtest/gtest.h>

#include <string>

#include "state/memories.h"
#include "state/pack/fields.h"

namespace agent_graph::state {
namespace {

TEST(MemoryRow, OfAnOlderVersionIsPlainText) {
  std::string bytes;
  pack::Packer packer(bytes);
  packer.Array(10);
  for (const char* text : {"m", "alice", "", "", "episodic", "general", "tea", "{}"}) {
    packer.Text(text);
  }
  packer.Signed(1);
  packer.Signed(2);
  MemoryRecord record;
  ASSERT_TRUE(pack::FromBytes(bytes, record));
  EXPECT_EQ(record.content, "tea");
  EXPECT_EQ(record.updated_micros, 2);
  EXPECT_EQ(record.message_json, "");
}

}  // namespace
}  // namespace agent_graph::state

#include "tools/call/reply_memory.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace agent_graph::tools {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RecordingMemory : public ReplyMemory {
 public:
  Status Await(uint64_t bytes) override {
    awaited.push_back(bytes);
    return status;
  }
  std::vector<uint64_t> awaited;
  Status status;
};

std::string Text(size_t bytes) {
  return std::string(bytes, 'x');
}

TEST(ReplySizeTest, ASmallReplyDoesNotWait) {
  RecordingMemory memory;
  ReplySize size(&memory);
  EXPECT_TRUE(size.Add(Text(20'000)).ok());
  EXPECT_TRUE(size.Add(Text(12'768)).ok());
  EXPECT_THAT(memory.awaited, IsEmpty());
}

TEST(ReplySizeTest, AReplyWaitsForMoreAsItGrows) {
  RecordingMemory memory;
  ReplySize size(&memory);
  EXPECT_TRUE(size.Add(Text(40'000)).ok());
  EXPECT_TRUE(size.Add(Text(20'000)).ok());
  EXPECT_TRUE(size.Add(Text(1)).ok());
  EXPECT_THAT(memory.awaited, ElementsAre(60'000u, 90'001u));
}

TEST(ReplySizeTest, ManyValuesWeighMoreThanTheirText) {
  RecordingMemory memory;
  ReplySize size(&memory);
  std::string values;
  for (int i = 0; i < 5'000; ++i) values += "{},";
  EXPECT_TRUE(size.Add(values).ok());
  ASSERT_EQ(memory.awaited.size(), 1u);
  EXPECT_GT(memory.awaited[0], 5 * values.size());
}

TEST(ReplySizeTest, WithoutMemoryTheServiceSeemsUnavailable) {
  RecordingMemory memory;
  memory.status = Status(StatusCode::kResourceExhausted, "none");
  ReplySize size(&memory);
  const Status status = size.Add(Text(40'000));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), testing::HasSubstr("too little free memory"));
  memory.status = Status(StatusCode::kCancelled, "gone");
  EXPECT_EQ(size.Add(Text(400'000)).code(), StatusCode::kCancelled);
}

TEST(ReplySizeTest, OutsideOfARunNothingWaits) {
  ReplySize size(nullptr);
  EXPECT_TRUE(size.Add(Text(4'000'000)).ok());
}

}  // namespace
}  // namespace agent_graph::tools

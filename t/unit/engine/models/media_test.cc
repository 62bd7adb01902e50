#include "models/media.h"

#include <gtest/gtest.h>

namespace agent_graph::models {
namespace {

MediaBlock At(MediaBlock::Type type, const std::string& url) {
  MediaBlock block{.type = type, .media = {}};
  block.media.url = url;
  return block;
}

TEST(Media, DataUrls) {
  const auto image = InlineDataOf(At(MediaBlock::Type::kImage, "data:image/gif;base64,QUJD"));
  ASSERT_TRUE(image);
  EXPECT_EQ(image->mime_type, "image/gif");
  EXPECT_EQ(image->base64, "QUJD");
  EXPECT_EQ(
      InlineDataOf(At(MediaBlock::Type::kDocument, "data:text/plain;charset=utf-8;base64,QUJD"))
          ->mime_type,
      "text/plain");
  EXPECT_EQ(InlineDataOf(At(MediaBlock::Type::kVideo, "data:;base64,QUJD"))->mime_type,
            "video/mp4");
  EXPECT_FALSE(InlineDataOf(At(MediaBlock::Type::kImage, "data:text/plain,hello")));
  EXPECT_FALSE(InlineDataOf(At(MediaBlock::Type::kImage, "https://example.com/a.png")));
}

}  // namespace
}  // namespace agent_graph::models

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

TEST(Media, EncodesBase64) {
  EXPECT_EQ(EncodeBase64(""), "");
  EXPECT_EQ(EncodeBase64("f"), "Zg==");
  EXPECT_EQ(EncodeBase64("fo"), "Zm8=");
  EXPECT_EQ(EncodeBase64("foo"), "Zm9v");
  EXPECT_EQ(EncodeBase64("\xff\xfe\xfd\xfc"), "//79/A==");
}

TEST(Media, DecodesBase64) {
  EXPECT_EQ(DecodeBase64(""), "");
  EXPECT_EQ(DecodeBase64("QQ=="), "A");
  EXPECT_EQ(DecodeBase64("QUI="), "AB");
  EXPECT_EQ(DecodeBase64("QUJD"), "ABC");
  EXPECT_EQ(DecodeBase64("QUJDRA"), "ABCD");
  EXPECT_EQ(DecodeBase64("+/8="), "\xfb\xff");
  for (const char* text : {"Q", "QUJDR", "QU D", "QU-D", "=QUJ"}) {
    EXPECT_FALSE(DecodeBase64(text)) << text;
  }
}

TEST(EncodeBase64, IsWhatDecodes) {
  EXPECT_EQ(EncodeBase64(""), "");
  EXPECT_EQ(EncodeBase64("f"), "Zg==");
  EXPECT_EQ(EncodeBase64("fo"), "Zm8=");
  EXPECT_EQ(EncodeBase64("foobar"), "Zm9vYmFy");
  const std::string bytes("\x00\xff\xfe\x7f", 4);
  EXPECT_EQ(DecodeBase64(EncodeBase64(bytes)), bytes);
}

}  // namespace
}  // namespace agent_graph::models

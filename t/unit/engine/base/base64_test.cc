#include "base/base64.h"

#include <gtest/gtest.h>

namespace agent_graph {
namespace {

TEST(Base64, Encodes) {
  EXPECT_EQ(EncodeBase64(""), "");
  EXPECT_EQ(EncodeBase64("f"), "Zg==");
  EXPECT_EQ(EncodeBase64("fo"), "Zm8=");
  EXPECT_EQ(EncodeBase64("foo"), "Zm9v");
  EXPECT_EQ(EncodeBase64("\xff\xfe\xfd\xfc"), "//79/A==");
}

TEST(Base64, Decodes) {
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

TEST(Base64, BothWays) {
  EXPECT_EQ(EncodeBase64(""), "");
  EXPECT_EQ(EncodeBase64("f"), "Zg==");
  EXPECT_EQ(EncodeBase64("fo"), "Zm8=");
  EXPECT_EQ(EncodeBase64("foobar"), "Zm9vYmFy");
  const std::string bytes("\x00\xff\xfe\x7f", 4);
  EXPECT_EQ(DecodeBase64(EncodeBase64(bytes)), bytes);
}

TEST(Base64, ForUrls) {
  EXPECT_EQ(EncodeBase64Url(""), "");
  EXPECT_EQ(EncodeBase64Url("f"), "Zg");
  EXPECT_EQ(EncodeBase64Url("\xfb\xff\xfe"), "-__-");
}

}  // namespace
}  // namespace agent_graph

#include "media/mime.h"

#include <gtest/gtest.h>

#include <vector>

#include "media/extractor.h"

namespace agent_graph::media {
namespace {

TEST(Essence, IsLowerCaseWithoutParameters) {
  EXPECT_EQ(Essence("IMAGE/PNG; x=y"), "image/png");
  EXPECT_EQ(Essence("application/vnd.a+xml"), "application/vnd.a+xml");
  for (const char* type : {"", "png", "/png", "image/", "image/p ng", "image/\"x\"", "a/b/c",
                           "image/png; x=y, text/html", "image/png,"}) {
    EXPECT_EQ(Essence(type), "") << type;
  }
}

TEST(TypeOfName, ByTheExtension) {
  EXPECT_EQ(TypeOfName("a.tar.GZ"), "application/gzip");
  EXPECT_EQ(TypeOfName("photo.JPeG"), "image/jpeg");
  EXPECT_EQ(TypeOfName("README"), "application/octet-stream");
  EXPECT_EQ(TypeOfName(".png"), "image/png");
  EXPECT_EQ(TypeOfName("a."), "application/octet-stream");
}

TEST(IsAllowed, ExactTypesAndSubtypes) {
  const std::vector<std::string> allowed = {"image/*", "application/pdf"};
  EXPECT_TRUE(IsAllowed("IMAGE/PNG; x=y", allowed));
  EXPECT_TRUE(IsAllowed("application/pdf", allowed));
  EXPECT_FALSE(IsAllowed("imagex/png", allowed));
  EXPECT_FALSE(IsAllowed("application/pdf2", allowed));
  EXPECT_FALSE(IsAllowed("", allowed));
  EXPECT_TRUE(IsAllowed("anything", {}));
  EXPECT_TRUE(IsAllowed("a/b", std::vector<std::string>{"*/*"}));
}

TEST(IsActiveType, IsWhatBrowsersRun) {
  for (const char* type : {"text/html", "IMAGE/SVG+XML", "application/xhtml+xml", "text/xml",
                           "application/xml", "text/javascript", "application/ecmascript"}) {
    EXPECT_TRUE(IsActiveType(type)) << type;
    EXPECT_FALSE(IsShownInPlace(type)) << type;
  }
  for (const char* type : {"image/png", "audio/mpeg", "video/mp4", "text/plain; charset=utf-8"}) {
    EXPECT_FALSE(IsActiveType(type)) << type;
    EXPECT_TRUE(IsShownInPlace(type)) << type;
  }
  EXPECT_FALSE(IsShownInPlace("application/pdf"));
}

TEST(LooksActive, BeginsLikeAPage) {
  for (const char* text :
       {"<html>", " \n\t<!DOCTYPE html>", "\xef\xbb\xbf<?xml", "</script>", "<", "<SVG"}) {
    EXPECT_TRUE(LooksActive(text)) << text;
  }
  for (const char* text : {"", "   ", "a<html>", "<3", "\x89PNG"}) {
    EXPECT_FALSE(LooksActive(text)) << text;
  }
}

TEST(FormatOf, ByTypeThenByName) {
  EXPECT_EQ(FormatOf("application/pdf", "x"), "pdf");
  EXPECT_EQ(FormatOf("Text/HTML; charset=utf-8", "x.pdf"), "html");
  EXPECT_EQ(FormatOf("application/octet-stream", "x.docx"), "docx");
  EXPECT_EQ(FormatOf("", "x.csv"), "plain");
  EXPECT_EQ(FormatOf("image/png", "x.pdf"), "");
}

}  // namespace
}  // namespace agent_graph::media

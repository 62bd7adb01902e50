#include "ngx_module/request/base_path.h"

#include <gtest/gtest.h>

namespace agent_graph::nginx {
namespace {

std::string_view Strip(std::string_view raw, std::string_view base) {
  return StripBasePath(raw, base).value_or("(outside)");
}

TEST(StripBasePath, RootKeepsThePathAsItIs) {
  EXPECT_EQ(Strip("/ping", "/"), "/ping");
  EXPECT_EQ(Strip("//v1/graph", "/"), "//v1/graph");
  EXPECT_EQ(Strip("/", "/"), "/");
}

TEST(StripBasePath, CutsWholeSegmentsOnly) {
  EXPECT_EQ(Strip("/support/ping", "/support/"), "/ping");
  EXPECT_EQ(Strip("/support/ping", "/support"), "/ping");
  EXPECT_EQ(Strip("/support", "/support"), "");
  EXPECT_EQ(Strip("/supporter/ping", "/support"), "(outside)");
  EXPECT_EQ(Strip("/a/b/v1/graph", "/a/b/"), "/v1/graph");
  EXPECT_EQ(Strip("/a", "/a/b/"), "(outside)");
}

TEST(StripBasePath, ComparesTheDecodedForm) {
  EXPECT_EQ(Strip("/s%75pport/ping", "/support/"), "/ping");
  EXPECT_EQ(Strip("/my%20agent/ping", "/my agent/"), "/ping");
  EXPECT_EQ(Strip("/a%2Fb/ping", "/a/b/"), "(outside)");
  EXPECT_EQ(Strip("/supp%6/ping", "/support/"), "(outside)");
}

TEST(StripBasePath, LeavesWhatFollowsUntouched) {
  EXPECT_EQ(Strip("/support/v1/threads/a%2Fb//state", "/support/"), "/v1/threads/a%2Fb//state");
  EXPECT_EQ(Strip("//support//ping", "/support/"), "//ping");
}

TEST(StripBasePath, DotSegmentsDoNotReachAnotherLocation) {
  EXPECT_EQ(Strip("/x/../support/ping", "/support/"), "(outside)");
  EXPECT_EQ(Strip("/./support/ping", "/support/"), "(outside)");
}

TEST(UrlPrefix, IsEncodedAndEndsWithoutASlash) {
  EXPECT_EQ(UrlPrefix("/"), "");
  EXPECT_EQ(UrlPrefix("/support/"), "/support");
  EXPECT_EQ(UrlPrefix("/support/v1"), "/support/v1");
  EXPECT_EQ(UrlPrefix("/caf\xc3\xa9 \"x\"/"), "/caf%C3%A9%20%22x%22");
}

}  // namespace
}  // namespace agent_graph::nginx

#include "auth/ownership.h"

#include <gtest/gtest.h>

#include "owners.h"

namespace agent_graph::auth {
namespace {

TEST(OwnerCache, ForgetsTheLeastRecentlyUsed) {
  OwnerCache cache(2);
  cache.Put("a", "alice");
  cache.Put("b", "bob");
  EXPECT_EQ(cache.Find("a"), "alice");
  cache.Put("c", "carol");
  EXPECT_EQ(cache.Find("b"), std::nullopt);
  EXPECT_EQ(cache.Find("a"), "alice");
  EXPECT_EQ(cache.Find("c"), "carol");
  EXPECT_EQ(cache.size(), 2u);
}

TEST(OwnerCache, ReplacesAndEvicts) {
  OwnerCache cache;
  cache.Put("a", "alice");
  cache.Put("a", "bob");
  EXPECT_EQ(cache.Find("a"), "bob");
  EXPECT_EQ(cache.size(), 1u);
  cache.Evict("a");
  cache.Evict("a");
  EXPECT_EQ(cache.Find("a"), std::nullopt);
}

TEST(OwnerCache, HoldsTenThousandByDefault) {
  OwnerCache cache;
  for (size_t i = 0; i < kOwnersMax + 100; ++i) cache.Put(std::to_string(i), "u");
  EXPECT_EQ(cache.size(), 10'000u);
  EXPECT_EQ(cache.Find("99"), std::nullopt);
  EXPECT_EQ(cache.Find("100"), "u");
}

class OwnerLookupTest : public ::testing::Test {
 protected:
  testing::Owners state_;
  std::vector<std::string> warnings_;
  OwnerLookup lookup_{state_.Reader(), nullptr,
                      [this](const std::string& line) { warnings_.push_back(line); }};
};

TEST_F(OwnerLookupTest, RemembersAnOwnerAndAllowsFromMemory) {
  state_.owners["t"] = "alice";
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kCaller);
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kRemembered);
  EXPECT_EQ(state_.reads, 1);
}

TEST_F(OwnerLookupTest, NeverDeniesFromMemory) {
  state_.owners["t"] = "alice";
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kCaller);
  EXPECT_EQ(lookup_.Find("bob", "t"), Ownership::kForeign);
  EXPECT_EQ(state_.reads, 2);
  // The thread was deleted and created again by another user, on another worker.
  state_.owners["t"] = "bob";
  EXPECT_EQ(lookup_.Find("bob", "t"), Ownership::kCaller);
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kForeign);
}

TEST_F(OwnerLookupTest, NeverRemembersThatThereIsNoThread) {
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kNoThread);
  state_.owners["t"] = "bob";
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kForeign);
  state_.owners.clear();
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kNoThread);
}

TEST_F(OwnerLookupTest, ReadingPutsAStaleMemoryRight) {
  state_.owners["t"] = "alice";
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kCaller);
  state_.owners["t"] = "bob";
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kRemembered);
  EXPECT_EQ(lookup_.Read("alice", "t"), Ownership::kForeign);
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kForeign);
  EXPECT_EQ(lookup_.Find("bob", "t"), Ownership::kRemembered);
  state_.owners.clear();
  EXPECT_EQ(lookup_.Read("bob", "t"), Ownership::kNoThread);
  EXPECT_EQ(lookup_.Find("bob", "t"), Ownership::kNoThread);
}

TEST_F(OwnerLookupTest, EvictionForgets) {
  state_.owners["t"] = "alice";
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kCaller);
  lookup_.Evict("t");
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kCaller);
  EXPECT_EQ(state_.reads, 2);
}

TEST_F(OwnerLookupTest, AThreadWithoutAnOwnerIsForeign) {
  state_.owners["t"] = "";
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kForeign);
  EXPECT_EQ(lookup_.Find("", "t"), Ownership::kForeign);
}

TEST_F(OwnerLookupTest, DistinguishesFailedFromImpossibleLookups) {
  state_.failure = Status(StatusCode::kUnavailable, "gone");
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kFailed);
  EXPECT_EQ(warnings_.size(), 1u);
  state_.failure = Status(StatusCode::kNotConfigured, "no owners here");
  EXPECT_EQ(lookup_.Find("alice", "t"), Ownership::kUnresolvable);
  EXPECT_EQ(warnings_.size(), 2u);
  OwnerLookup none(nullptr, nullptr, nullptr);
  EXPECT_EQ(none.Find("alice", "t"), Ownership::kUnresolvable);
}

}  // namespace
}  // namespace agent_graph::auth

// Sealed texts: they open with the right key and purpose only, unchanged.
#include "auth/sealed_text.h"

#include <gtest/gtest.h>

namespace agent_graph::auth {
namespace {

TEST(SealedText, OpensForItsPurposeOnly) {
  const std::string sealed = Seal("key", "purpose", "payload");
  EXPECT_EQ(Unseal("key", "purpose", sealed), "payload");
  EXPECT_EQ(Unseal("other", "purpose", sealed), std::nullopt);
  EXPECT_EQ(Unseal("key", "other", sealed), std::nullopt);
  // The purpose and the payload do not run into each other.
  EXPECT_EQ(Unseal("key", "purposep", Seal("key", "purpose", "payload")), std::nullopt);
  EXPECT_EQ(Unseal("key", "", Seal("key", "", "")), "");
}

TEST(SealedText, NoCharacterCanBeChanged) {
  const std::string sealed = Seal("key", "purpose", "payload");
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string other = sealed;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(Unseal("key", "purpose", other), std::nullopt) << i;
    EXPECT_EQ(Unseal("key", "purpose", sealed.substr(0, i)), std::nullopt) << i;
  }
  EXPECT_EQ(Unseal("key", "purpose", sealed + "A"), std::nullopt);
  EXPECT_EQ(Unseal("key", "purpose", "\xff\xff"), std::nullopt);
}

}  // namespace
}  // namespace agent_graph::auth

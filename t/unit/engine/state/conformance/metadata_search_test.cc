// Threads are found by values of their metadata.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "conformance.h"
#include "state/service.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The fixture declares the names `tenant` and `topic`.
class MetadataSearchTest : public ConformanceTest {
 protected:
  void Write(const std::string& thread_id, const std::string& user,
             const std::string& metadata_json) {
    AppendMessagesRequest append = MessagesOn(thread_id, user, {});
    append.metadata_json = metadata_json;
    const Status written = service().AppendMessages(append);
    ASSERT_TRUE(written.ok()) << written.ToString();
  }
  ThreadPage Page(const PageRequest& page, const Scope& scope = Scope::All()) {
    Result<ThreadPage> found = service().ListThreads(scope, page);
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found.ok() ? *found : ThreadPage();
  }
  static PageRequest With(std::vector<MetadataValue> metadata) {
    PageRequest page;
    page.metadata = std::move(metadata);
    return page;
  }
  std::vector<std::string> Find(std::vector<MetadataValue> metadata,
                                const Scope& scope = Scope::All()) {
    return IdsOf(Page(With(std::move(metadata)), scope));
  }
  static std::vector<std::string> IdsOf(const ThreadPage& page) {
    std::vector<std::string> ids;
    for (const ThreadRecord& thread : page.threads) ids.push_back(thread.thread_id);
    return ids;
  }
};

TEST_P(MetadataSearchTest, TheLatestThreadsComeFirst) {
  Write("a", "", R"({"tenant":"x","topic":"rain"})");
  Write("b", "", R"({"tenant":"y"})");
  Write("c", "", R"({"tenant":"x"})");
  EXPECT_THAT(Find({{"tenant", "x"}}), ElementsAre("c", "a"));
  Write("a", "", R"({"other":1})");
  EXPECT_THAT(Find({{"tenant", "x"}}), ElementsAre("a", "c"));
  EXPECT_THAT(Find({{"tenant", "x"}, {"topic", "rain"}}), ElementsAre("a"));
  EXPECT_THAT(Find({{"topic", "rain"}, {"tenant", "y"}}), IsEmpty());
  EXPECT_THAT(Find({{"tenant", "x2"}}), IsEmpty());
  EXPECT_THAT(Find({{"tenant", ""}}), IsEmpty());
}

TEST_P(MetadataSearchTest, NumbersAndBooleansAreTextsAndOtherValuesAreNone) {
  Write("a", "", R"({"tenant":5})");
  Write("b", "", R"({"tenant":"5"})");
  Write("c", "", R"({"tenant":true})");
  Write("d", "", R"({"tenant":[5],"topic":{"x":1}})");
  Write("e", "", R"({"tenant":")" + std::string(513, 'x') + "\"}");
  EXPECT_THAT(Find({{"tenant", "5"}}), ElementsAre("b", "a"));
  EXPECT_THAT(Find({{"tenant", "true"}}), ElementsAre("c"));
  EXPECT_THAT(Find({{"tenant", "[5]"}}), IsEmpty());
  EXPECT_THAT(Find({{"tenant", std::string(513, 'x')}}), IsEmpty());
}

TEST_P(MetadataSearchTest, AThreadIsFoundByItsPresentValueOnly) {
  Write("a", "", R"({"tenant":"x"})");
  Write("a", "", R"({"tenant":"y"})");
  EXPECT_THAT(Find({{"tenant", "x"}}), IsEmpty());
  EXPECT_THAT(Find({{"tenant", "y"}}), ElementsAre("a"));
  Write("a", "", R"({"tenant":null})");
  EXPECT_THAT(Find({{"tenant", "y"}}), IsEmpty());
  Write("a", "", R"({"tenant":"z"})");
  ASSERT_TRUE(service().DeleteThread(Scope::All(), "a").ok());
  EXPECT_THAT(Find({{"tenant", "z"}}), IsEmpty());
  Write("a", "", R"({})");
  EXPECT_THAT(Find({{"tenant", "z"}}), IsEmpty());
}

TEST_P(MetadataSearchTest, OnlyThreadsOfTheScopeAreFound) {
  Write("alices", "alice", R"({"tenant":"x"})");
  Write("bobs", "bob", R"({"tenant":"x"})");
  Write("nobodys", "", R"({"tenant":"x"})");
  EXPECT_THAT(Find({{"tenant", "x"}}, Scope::Owner("alice")), ElementsAre("alices"));
  EXPECT_THAT(Find({{"tenant", "x"}}, Scope::Owner("carol")), IsEmpty());
  EXPECT_THAT(Find({{"tenant", "x"}}, Scope::Owner("")), IsEmpty());
  EXPECT_THAT(Find({{"tenant", "x"}}), ElementsAre("nobodys", "bobs", "alices"));
}

TEST_P(MetadataSearchTest, PagesFollowEachOther) {
  for (int i = 0; i < 7; ++i) {
    Write(Numbered("t", i), "ada", i % 2 == 0 ? R"({"tenant":"x"})" : R"({"tenant":"y"})");
  }
  std::vector<std::string> found;
  PageRequest page = With({{"tenant", "x"}});
  page.limit = 2;
  do {
    const ThreadPage next = Page(page, Scope::Owner("ada"));
    for (const std::string& id : IdsOf(next)) found.push_back(id);
    page.cursor = next.next_cursor;
  } while (!page.cursor.empty());
  EXPECT_THAT(found, ElementsAre("t6", "t4", "t2", "t0"));
  page = With({{"tenant", "x"}});
  page.offset = 3;
  EXPECT_THAT(IdsOf(Page(page)), ElementsAre("t0"));
  page = With({{"tenant", "x"}});
  page.search = "t4";
  EXPECT_THAT(IdsOf(Page(page)), ElementsAre("t4"));
}

TEST_P(MetadataSearchTest, ARunMovesItsThreadToTheFront) {
  Write("a", "", R"({"tenant":"x"})");
  Write("b", "", R"({"tenant":"x"})");
  RunTurn(service(), "a", "", {UserMessage("m")});
  EXPECT_THAT(Find({{"tenant", "x"}}), ElementsAre("a", "b"));
}

INSTANTIATE_TEST_SUITE_P(Backends, MetadataSearchTest, testing::ValuesIn(AllSetups()), SetupName);

}  // namespace
}  // namespace agent_graph::state

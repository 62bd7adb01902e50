// A host whose wall clock is two days behind that of the database.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "../conformance/grants.h"
#include "../fixture.h"
#include "hosts_fixture.h"

namespace agent_graph::state {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kHour = 3600 * kSecond;
constexpr int64_t kDay = 24 * kHour;
constexpr int64_t kAhead = 2 * kDay;

class TimesOfHostsTest : public HostsTest {
 protected:
  // A database whose sessions see a clock that is ahead.
  static std::string UrlWithClock(const std::string& url) {
    postgres::Connection connection({.url = url});
    const Status made = connection.RunScript(
        "CREATE SCHEMA ahead; "
        "CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
        "$$SELECT pg_catalog.clock_timestamp() + interval '2 days'$$;");
    EXPECT_TRUE(made.ok()) << made.ToString();
    return url + "&options=-csearch_path%3Dahead,pg_catalog";
  }
  static void ExpectNear(int64_t micros, int64_t expected) {
    EXPECT_LT(std::abs(micros - expected), kHour);
  }

  Host host_{UrlWithClock(NewDatabase())};
};

TEST_F(TimesOfHostsTest, RowsHaveTheTimeOfTheDatabase) {
  Client& client = host_.Connect();
  RunTurn(client, "t", "", {UserMessage("m")});
  const Result<ThreadRecord> thread = client.GetThread(Scope::All(), "t");
  ASSERT_TRUE(thread.ok()) << thread.status().ToString();
  ExpectNear(thread->created_micros, UnixMicros() + kAhead);
  ExpectNear(thread->updated_micros, UnixMicros() + kAhead);
}

TEST_F(TimesOfHostsTest, AKeyLivesAsLongAsItsClientSays) {
  Client& client = host_.Connect();
  const RunKey key{"/route", "key", ""};
  ASSERT_TRUE(client.ClaimKey({"ada", key, "first", UnixMicros() + kHour}).ok());
  const Result<KeyRecord> found = client.FindKey({"ada", "/route", "key"});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->value, "first");
  ASSERT_TRUE(client.ClaimKey({"bob", key, "old", UnixMicros() - kHour}).ok());
  EXPECT_EQ(client.FindKey({"bob", "/route", "key"}).status().code(), StatusCode::kNotFound);
}

TEST_F(TimesOfHostsTest, ADeadlineIsOfTheWorkersClockForTheWorker) {
  Grants grants;
  Client& worker = host_.Connect(grants.Receiver());
  AcceptRunRequest accept = Accepted("t", "r");
  accept.deadline_micros = UnixMicros() + kDay;
  const Result<AcceptRunReply> accepted = worker.AcceptRun(accept);
  ASSERT_TRUE(accepted.ok()) << accepted.status().ToString();
  ExpectNear(accepted->run.created_micros, UnixMicros() + kAhead);
  ExpectNear(grants.Next().deadline_micros, UnixMicros() + kDay);
}

}  // namespace
}  // namespace agent_graph::state

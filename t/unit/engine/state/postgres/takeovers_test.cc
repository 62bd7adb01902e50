// The count of dead hosts.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "../conformance/direct_host.h"
#include "../fixture.h"
#include "host_options.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class TakeoversTest : public postgres::DatabaseTest {
 protected:
  void AddInstance(char digit, bool dead) {
    Run(
        {"INSERT INTO agent_graph.instance (id, incarnation, host, address, version, schema, dead, "
         "ended) VALUES ($1, 1, '', '', '', 1, " +
             std::string(dead ? "true, now()" : "false, NULL") + ")",
         {postgres::Value::Uuid(std::string(32, digit))}});
  }
  void AwaitBeat(const DatabaseStatus& status) {
    const int64_t before = status.last_beat_micros;
    while (status.last_beat_micros == before) std::this_thread::yield();
  }

  TemporaryDirectory directory_;
};

TEST_F(TakeoversTest, HostsThatQuitAreNotCounted) {
  AddInstance('1', /*dead=*/true);
  const StateOptions options = OptionsOfHost(directory_.path(), url_);
  DirectHost host(options);
  ASSERT_TRUE(host.Open().ok());
  const DatabaseStatus& status = *options.database_status;
  AwaitBeat(status);
  AwaitBeat(status);
  EXPECT_EQ(status.takeovers, 0u);
  AddInstance('2', /*dead=*/false);
  while (Number("SELECT count(*) FROM agent_graph.instance WHERE dead") < 2) {
    std::this_thread::yield();
  }
  AwaitBeat(status);
  AwaitBeat(status);
  EXPECT_EQ(status.takeovers, 1u);
}

}  // namespace
}  // namespace agent_graph::state
